//! Part of the pass `shape`: what the statement of a tool leaves a column at.
//!
//! Owns the reading of `update … set … where …` and of `insert into … values …`, as far as each
//! part is a comparison of a column with one value. INVARIANT: what is not understood says nothing;
//! a statement is read, never run.

use serde_json::{Value, json};

use crate::catalog::Operation;

/// The value that a column has in the rows that a statement has changed, where a query reads it of
/// the same table; `given` knows the arguments.
pub(super) fn leaves(
    write: &Operation,
    read: &Operation,
    column: &str,
    given: &dyn Fn(&str) -> Option<Value>,
) -> Option<Value> {
    value(&operand(write, read, column)?, given)
}

/// The argument that a statement leaves a column at, where a query reads it of the same table.
pub(super) fn leaves_argument(write: &Operation, read: &Operation, column: &str) -> Option<String> {
    operand(write, read, column)?
        .strip_prefix(':')
        .map(str::to_owned)
}

/// Whether a statement adds a row to the table that a query reads.
pub(super) fn adds_to(write: &Operation, read: &Operation) -> bool {
    changed(write, read).is_some_and(|set| set.adds)
}

/// The constants by which a statement chooses the rows that it changes, where a query reads the
/// same table: each with its column.
pub(super) fn chooses(write: &Operation, read: &Operation) -> Vec<(String, Value)> {
    let chosen = changed(write, read).map(|set| set.chosen);
    let fixed = chosen.into_iter().flatten();
    fixed
        .filter_map(|(column, operand)| Some((column, value(&operand, &|_| None)?)))
        .collect()
}

fn operand(write: &Operation, read: &Operation, column: &str) -> Option<String> {
    let mut columns = changed(write, read)?.columns.into_iter();
    Some(columns.find(|(name, _)| name == column)?.1)
}

/// What a statement changes in the table that a query reads.
fn changed(write: &Operation, read: &Operation) -> Option<Set> {
    let text = |operation: &Operation, kind: &str| {
        let statement = operation.endpoint.get("statement")?;
        Some(tokens(statement.get(kind)?.as_str()?))
    };
    let (execute, query) = (text(write, "execute")?, text(read, "query")?);
    let set = set(&execute).or_else(|| added(&execute))?;
    let mut of_table = query.windows(2).filter(|pair| {
        pair.first().is_some_and(|word| word == "from") && pair.get(1) == Some(&set.table)
    });
    let renames = query.iter().any(|word| word == "as" || word == "join");
    let is_read = write.server() == read.server() && of_table.next().is_some() && !renames;
    is_read.then_some(set)
}

/// A statement that changes rows of a table, and what their columns are then.
struct Set {
    table: String,
    columns: Vec<(String, String)>,
    /// By which columns the rows are chosen.
    chosen: Vec<(String, String)>,
    /// Whether it adds a row.
    adds: bool,
}

fn set(tokens: &[String]) -> Option<Set> {
    let [update, table, set, rest @ ..] = tokens else {
        return None;
    };
    if update != "update" || set != "set" {
        return None;
    }
    let end = |word: &str| rest.iter().position(|one| one == word);
    let end_of_all = end("returning").unwrap_or(rest.len());
    let end_of_set = end("where").unwrap_or(end_of_all);
    let changed = rest.get(..end_of_set)?;
    let chosen = rest.get(end_of_set + 1..end_of_all).unwrap_or_default();
    let equals = |part: &[String]| match part {
        [column, is, value] if is == "=" => Some((column.clone(), value.clone())),
        _ => None,
    };
    let assigned: Vec<&[String]> = changed.split(|one| one == ",").collect();
    let names = assigned.iter().filter_map(|part| part.first());
    let names: Vec<&String> = names.collect();
    // Why: with `or`, no part need hold.
    let chosen = Some(chosen).filter(|all| !all.iter().any(|one| one == "or" || one == "not"));
    let chosen = chosen
        .into_iter()
        .flat_map(|all| all.split(|one| one == "and"));
    let chosen: Vec<(String, String)> = chosen.filter_map(equals).collect();
    let kept = chosen
        .iter()
        .filter(|(column, _)| !names.contains(&column))
        .cloned();
    let columns = assigned.iter().filter_map(|part| equals(part)).chain(kept);
    Some(Set {
        table: table.clone(),
        columns: columns.collect(),
        chosen,
        adds: false,
    })
}

/// A statement that adds one row, as far as each value is one word.
fn added(tokens: &[String]) -> Option<Set> {
    let [insert, into, table, open, rest @ ..] = tokens else {
        return None;
    };
    let at = rest.iter().position(|one| one == "values")?;
    let is_plain = insert == "insert" && into == "into" && open == "(";
    let (names, values) = (rest.get(..at)?, rest.get(at + 1..)?);
    let [names @ .., close] = names else {
        return None;
    };
    let [first, values @ .., last] = values else {
        return None;
    };
    let is_plain = is_plain && close == ")" && first == "(" && last == ")";
    let nested = values.iter().any(|one| one == "(" || one == ")");
    let names: Vec<&[String]> = names.split(|one| one == ",").collect();
    let values: Vec<&[String]> = values.split(|one| one == ",").collect();
    if !is_plain || nested || names.len() != values.len() {
        return None;
    }
    let pairs = names.into_iter().zip(values);
    let columns = pairs.filter_map(|pair| match pair {
        ([name], [value]) => Some((name.clone(), value.clone())),
        _ => None,
    });
    Some(Set {
        table: table.clone(),
        columns: columns.collect(),
        chosen: Vec::new(),
        adds: true,
    })
}

/// The value that an operand stands for.
fn value(operand: &str, given: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    if let Some(name) = operand.strip_prefix(':') {
        return given(name);
    }
    if let Some(text) = operand.strip_prefix('\'') {
        return Some(json!(text));
    }
    match operand {
        "true" => Some(json!(true)),
        "false" => Some(json!(false)),
        number => number.parse::<i64>().ok().map(|number| json!(number)),
    }
}

/// The words and signs of a statement, in lower case; a text begins with its quote and keeps its
/// case.
fn tokens(statement: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut text: Option<String> = None;
    for c in statement.chars() {
        if let Some(mut so_far) = text.take() {
            match c {
                '\'' => all.push(so_far),
                _ => {
                    so_far.push(c);
                    text = Some(so_far);
                }
            }
            continue;
        }
        if c.is_alphanumeric() || matches!(c, '_' | ':' | '.') {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            all.push(std::mem::take(&mut word));
        }
        match c {
            '\'' => text = Some("'".to_owned()),
            _ if c.is_whitespace() => {}
            _ => all.push(c.to_string()),
        }
    }
    if !word.is_empty() {
        all.push(word);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{added, set, tokens};

    /// A statement, and what it leaves its columns at.
    const LEFT: &str = "
update fines set waived = 1, reason = :reason where fine = :fine and paid = 0 : waived=1 reason=:reason fine=:fine paid=0
UPDATE t SET State = 'Sent' WHERE id = :id AND state = 'draft' : state='Sent id=:id
update t set n = n + 1, at = coalesce(:at, now()) where id = :id : id=:id
update t set a = 1 where b = 2 or c = 3 : a=1
update t set a = 1 where b <> 2 and c is null : a=1
update t set a = 1 : a=1
update t set a = true where id = :id returning b = 2 : a=true id=:id
delete from t where a = 1 :
insert into t (a) values (1) : a=1
insert into t (a, b, c) values (:a, 'open', now()) :
insert into t (a, b) values (:a, 'open') : a=:a b='open
insert into t (a) values (1), (2) :
insert into t (a) values (1) on conflict do nothing :
";

    #[test]
    fn a_statement_leaves_what_it_sets_and_what_it_chose_by() {
        for line in LEFT.lines().filter(|line| !line.is_empty()) {
            let (statement, left) = line.rsplit_once(" :").unwrap_or_default();
            let tokens = tokens(statement);
            let columns = set(&tokens).or_else(|| added(&tokens));
            let columns = columns.map(|set| set.columns);
            let columns = columns.unwrap_or_default().into_iter();
            let shown: Vec<String> = columns.map(|(name, is)| format!("{name}={is}")).collect();
            assert_eq!(shown.join(" "), left.trim(), "{statement}");
        }
    }
}
