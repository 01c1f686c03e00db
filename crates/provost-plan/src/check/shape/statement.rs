//! Part of the pass `shape`: what the statement of a tool leaves a column at.
//!
//! Owns the reading of `update … set … where …`, as far as each part is a comparison of a column
//! with one value. INVARIANT: what is not understood says nothing; a statement is read, never run.

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
    let text = |operation: &Operation, kind: &str| {
        let statement = operation.endpoint.get("statement")?;
        Some(tokens(statement.get(kind)?.as_str()?))
    };
    let (execute, query) = (text(write, "execute")?, text(read, "query")?);
    let set = set(&execute)?;
    let mut of_table = query.windows(2).filter(|pair| {
        pair.first().is_some_and(|word| word == "from") && pair.get(1) == Some(&set.table)
    });
    let renames = query.iter().any(|word| word == "as" || word == "join");
    if write.server() != read.server() || of_table.next().is_none() || renames {
        return None;
    }
    let own = set.columns.into_iter().find(|(name, _)| name == column);
    value(&own?.1, given)
}

/// A statement that changes rows of a table, and what their columns are then.
struct Set {
    table: String,
    columns: Vec<(String, String)>,
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
    let kept = chosen.filter_map(equals);
    let kept = kept.filter(|(column, _)| !names.contains(&column));
    let columns = assigned.iter().filter_map(|part| equals(part)).chain(kept);
    Some(Set {
        table: table.clone(),
        columns: columns.collect(),
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
    use super::{set, tokens};

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
insert into t (a) values (1) :
";

    #[test]
    fn a_statement_leaves_what_it_sets_and_what_it_chose_by() {
        for line in LEFT.lines().filter(|line| !line.is_empty()) {
            let (statement, left) = line.rsplit_once(" :").unwrap_or_default();
            let columns = set(&tokens(statement)).map(|set| set.columns);
            let columns = columns.unwrap_or_default().into_iter();
            let shown: Vec<String> = columns.map(|(name, is)| format!("{name}={is}")).collect();
            assert_eq!(shown.join(" "), left.trim(), "{statement}");
        }
    }
}
