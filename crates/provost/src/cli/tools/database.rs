//! `tools add --sql`: named queries of a database, with the types that the database says.
//!
//! Owns the file of queries, the queries proposed of a table, and the text of the entries. Runs no
//! query. INVARIANT: a statement stands in provost.toml as it was written, and one that the
//! database does not take is left out and said to be.

use std::path::Path;
use std::time::Duration;

use provost_engine::run::outcome::Reply;
use provost_engine::tools::openapi::Proposal;
use provost_engine::tools::{DescribedStatement, DescribedTable, Toolbox};
use provost_engine::workspace::open_tables;
use provost_plan::catalog::Effect;
use provost_plan::source::Source;
use serde_json::{Map, Value, json};

use super::add::{Add, comment, snake};
use super::import::{finish, is_name, new_tool};
use crate::document::reason;
use crate::failure::{Exit, Failure};
use crate::workspace_path::WorkspacePath;

/// How long the database may take to describe one statement.
const TIME: Duration = Duration::from_secs(30);
/// Most bytes of a file of queries.
const BYTES_MAX: u64 = 1 << 20;
/// Rows that a proposed query lists.
const LISTED: u32 = 100;
/// What begins a query of a file.
const MARK: &str = "-- name:";

/// A statement with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedQuery {
    name: String,
    description: String,
    /// Whether it gives one row, or one at most.
    rows: RowCount,
    sql: String,
}

/// How many rows a query gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowCount {
    Many,
    /// `:maybe`
    AtMostOne,
    /// `:one`
    One,
}

/// Writes the entry of the tool `name`.
pub(super) fn run(
    place: &WorkspacePath,
    name: &str,
    database: &str,
    verb: &Add,
) -> Result<Exit, Failure> {
    let root = new_tool(place, name, verb.password.as_deref())?;
    let head = head(name, database, verb.password.as_deref());
    let tables = Source::new("the new tool", format!("{head}ops = {{}}\n"));
    let toolbox = open_tables(&root, &tables)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("no thread could be started: {error}")))?;
    let proposal = runtime.block_on(async {
        let tables = toolbox.tables(name, TIME).await;
        let unread = |reply: Box<Reply>| Failure::failed(reply.message.unwrap_or_default());
        let queries = match verb.queries.is_empty() {
            true => of_tables(&tables.map_err(unread)?, &verb.only)?,
            false => {
                let queries = of_files(&verb.queries)?;
                // Why asked: one word about a database that is not there, and not one a query.
                tables.map_err(unread)?;
                queries
            }
        };
        proposed(&toolbox, name, head, &queries).await
    })?;
    finish(place, &root, verb, &proposal)
}

fn head(name: &str, database: &str, password: Option<&str>) -> String {
    let is_url = database.starts_with("postgres://") || database.starts_with("postgresql://");
    let key = if is_url { "url" } else { "database" };
    let mut text = format!(
        "[tools.{name}]\nkind = \"sql\"\n{key} = {}\n",
        json!(database)
    );
    if let Some(password) = password {
        text.push_str(&format!("password = {}\n", json!(password)));
    }
    text
}

/// The queries of these files, by name.
fn of_files(files: &[std::path::PathBuf]) -> Result<Vec<NamedQuery>, Failure> {
    let mut all: Vec<NamedQuery> = Vec::new();
    for file in files {
        let shown = file.display();
        let unread = |error: std::io::Error| {
            Failure::usage(format!("`{shown}` cannot be read: {}", reason(&error)))
        };
        if std::fs::metadata(file).map_err(unread)?.len() > BYTES_MAX {
            let message = format!("`{shown}` has more than {} MiB", BYTES_MAX >> 20);
            return Err(Failure::usage(message));
        }
        let text = std::fs::read_to_string(file).map_err(unread)?;
        let refused = |message| Failure::usage(format!("`{shown}`: {message}"));
        for query in queries(&text, file).map_err(refused)? {
            if all.iter().any(|one| one.name == query.name) {
                return Err(refused(format!("two queries are called `{}`", query.name)));
            }
            all.push(query);
        }
    }
    Ok(all)
}

/// The queries of a text; without a name it is one query, called as its file.
fn queries(text: &str, file: &Path) -> Result<Vec<NamedQuery>, String> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let whole;
    let text = match text.contains(MARK) {
        true => text,
        false => {
            whole = format!("{MARK} {}\n{text}", snake(&stem));
            &whole
        }
    };
    let mut parts = text.split(MARK);
    if parts
        .next()
        .is_some_and(|before| !statement(before).is_empty())
    {
        return Err(format!("a statement stands before the first `{MARK} NAME`"));
    }
    parts.map(query).collect()
}

/// One query, from its name on.
fn query(text: &str) -> Result<NamedQuery, String> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let mut words = first.split_whitespace();
    let name = words.next().unwrap_or_default().to_owned();
    if !is_name(&name) {
        return Err(format!(
            "`{name}` cannot name an operation: a name has up to 40 lower-case letters, digits \
             and `_`"
        ));
    }
    let rows = match words.next() {
        None | Some(":many" | ":exec" | ":execrows") => RowCount::Many,
        Some(":maybe") => RowCount::AtMostOne,
        Some(":one") => RowCount::One,
        Some(other) => {
            return Err(format!(
                "`{other}` of `{name}` is none of :many, :maybe, :one and :exec"
            ));
        }
    };
    let comments = rest
        .lines()
        .map(str::trim)
        .take_while(|line| line.starts_with("--"));
    let comments = comments.map(|line| line.trim_start_matches('-').trim());
    let sql = statement(rest);
    if sql.is_empty() {
        return Err(format!("`{name}` has no statement"));
    }
    Ok(NamedQuery {
        description: comments.collect::<Vec<_>>().join(" "),
        name,
        rows,
        sql,
    })
}

/// A statement without the comments before it and the mark at its end.
fn statement(text: &str) -> String {
    let lines = text.lines().skip_while(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with("--")
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    text.trim().trim_end_matches(';').trim_end().to_owned()
}

/// A query that lists each table, and one that finds a row by its key.
fn of_tables(tables: &[DescribedTable], only: &[String]) -> Result<Vec<NamedQuery>, Failure> {
    let known = |name: &&String| !tables.iter().any(|table| table.name == **name);
    if let Some(unknown) = only.iter().find(known) {
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        return Err(Failure::usage(format!("there is no table `{unknown}`"))
            .hint(format!("the tables are: {}", names.join(", "))));
    }
    let wanted = tables.iter();
    let wanted = wanted.filter(|table| only.is_empty() || only.contains(&table.name));
    Ok(wanted.flat_map(of_table).collect())
}

fn of_table(table: &DescribedTable) -> Vec<NamedQuery> {
    let name = snake(&table.name);
    let quoted = |name: &str| match is_name(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    };
    let list = |names: &[String]| names.iter().map(|one| quoted(one)).collect::<Vec<_>>();
    let columns = list(&table.columns).join(", ");
    let key = list(&table.key);
    let order = match key.is_empty() {
        true => String::new(),
        false => format!("\norder by {}", key.join(", ")),
    };
    let from = format!("select {columns}\nfrom {}", quoted(&table.name));
    let mut queries = vec![NamedQuery {
        name: format!("list_{name}"),
        description: format!("The first {LISTED} rows of {}", table.name),
        rows: RowCount::Many,
        sql: format!("{from}{order}\nlimit {LISTED}"),
    }];
    if table.key.iter().all(|one| is_name(one)) && !key.is_empty() {
        let is = key.iter().map(|one| format!("{one} = :{one}"));
        queries.push(NamedQuery {
            name: format!("get_{name}"),
            description: format!("The row of {} with this {}", table.name, key.join(" and ")),
            rows: RowCount::AtMostOne,
            sql: format!("{from}\nwhere {}", is.collect::<Vec<_>>().join(" and ")),
        });
    }
    queries
}

/// The entries of these queries, as the database describes them.
async fn proposed(
    toolbox: &Toolbox,
    tool: &str,
    head: String,
    queries: &[NamedQuery],
) -> Result<Proposal, Failure> {
    let mut proposal = Proposal {
        entries: format!(
            "# Each statement is yours; its types are what the database says of it. Read each \
             line,\n# above all each effect, before you commit it.\n{head}"
        ),
        ..Proposal::default()
    };
    for query in queries {
        let described = toolbox.describe(tool, &query.sql, TIME).await;
        let described = match described {
            Ok(described) => described,
            Err(reply) => {
                let why = reply.message.unwrap_or_default();
                proposal.left_out.push((query.name.clone(), why));
                continue;
            }
        };
        match refused(query, &described) {
            Some(why) => proposal.left_out.push((query.name.clone(), why.to_owned())),
            None => write(&mut proposal, tool, query, &described),
        }
    }
    if proposal.operations == 0 {
        let why = proposal
            .left_out
            .iter()
            .map(|(name, why)| format!("\n  {name}: {why}"));
        let why: String = why.collect();
        let message = format!("the database has nothing that can be added{why}");
        return Err(Failure::usage(message).hint("`--queries FILE` names queries of your own"));
    }
    Ok(proposal)
}

/// Why no operation can be declared of it.
fn refused(query: &NamedQuery, described: &DescribedStatement) -> Option<&'static str> {
    match (described.effect.is_read(), described.columns.is_empty()) {
        (false, false) => Some("it writes and returns rows; an operation does one of them"),
        (true, true) => Some("it returns no columns"),
        (false, true) if query.rows != RowCount::Many => {
            Some("it writes, and only a query gives one row")
        }
        _ => None,
    }
}

fn write(proposal: &mut Proposal, tool: &str, query: &NamedQuery, described: &DescribedStatement) {
    let NamedQuery { name, sql, .. } = query;
    let is_read = described.effect.is_read();
    let mut text = format!("\n[tools.{tool}.ops.{name}]\n");
    if !query.description.is_empty() {
        let description = json!(comment(&query.description));
        text.push_str(&format!("description = {description}\n"));
    }
    let statement = match sql.contains("'''") {
        false => format!("'''\n{sql}\n'''"),
        true => json!(sql).to_string(),
    };
    let key = if is_read { "query" } else { "execute" };
    text.push_str(&format!("{key} = {statement}\n"));
    match query.rows {
        RowCount::Many => {}
        RowCount::AtMostOne => text.push_str("single = true\n"),
        RowCount::One => text.push_str("one = true\n"),
    }
    let mut file = |part: &str, columns: &[(String, Option<Value>)]| {
        let path = format!("schemas/{tool}/{name}.{part}.json");
        let untyped = columns.iter().filter(|(_, schema)| schema.is_none());
        let untyped: Vec<&str> = untyped.map(|(name, _)| name.as_str()).collect();
        let open = match untyped.is_empty() {
            true => String::new(),
            false => format!(" # the database names no type of {}", untyped.join(", ")),
        };
        text.push_str(&format!("{part} = {}{open}\n", json!(path)));
        proposal.schemas.push((path, object(columns)));
    };
    if !described.parameters.is_empty() {
        file("input", &described.parameters);
    }
    if is_read {
        file("row", &described.columns);
    }
    text.push_str(match described.effect {
        Effect::Read => "effect = \"read\" # a query cannot write: the database refuses it\n",
        Effect::Write => "effect = \"write\" # it only inserts\n",
        _ => "effect = \"destructive\" # it may change or remove what is there\n",
    });
    if !is_read {
        text.push_str(&format!(
            "# Each write once, whatever happens to the connection: uncomment, then run\n\
             # `provost tools prepare {tool}`.\n# idempotency = {{ key = \"table\" }}\n"
        ));
    }
    proposal.entries.push_str(&text);
    proposal.operations += 1;
}

/// The schema of a map that has all of these.
fn object(columns: &[(String, Option<Value>)]) -> Value {
    let property = |(name, schema): &(String, Option<Value>)| {
        (name.clone(), schema.clone().unwrap_or_else(|| json!({})))
    };
    let properties: Map<String, Value> = columns.iter().map(property).collect();
    let required: Vec<&String> = columns.iter().map(|(name, _)| name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_file_of_queries_is_read_by_its_names() {
        let text = "-- the shop\n-- name: orders\n-- All orders\n-- of one customer\n\
                    select 1;\n\n-- name: order :one\nselect ';' as a\n";
        let file = Path::new("q.sql");
        let found = queries(text, file).unwrap();
        let (orders, order) = (found.first().unwrap(), found.last().unwrap());
        assert_eq!(orders.description, "All orders of one customer");
        assert_eq!(
            (orders.sql.as_str(), orders.rows),
            ("select 1", RowCount::Many)
        );
        assert_eq!(
            (order.sql.as_str(), order.rows),
            ("select ';' as a", RowCount::One)
        );
        let whole = queries("select 2", Path::new("Open Orders.sql")).unwrap_or_default();
        assert_eq!(
            whole.first().map(|one| one.name.as_str()),
            Some("open_orders")
        );
        for (text, why) in [
            ("select 1;\n-- name: a\nselect 2", "before the first"),
            ("-- name: A\nselect 2", "cannot name"),
            ("-- name: a\n", "no statement"),
            ("-- name: a :two\nselect 2", "none of"),
        ] {
            let error = queries(text, file).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
