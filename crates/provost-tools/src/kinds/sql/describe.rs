//! What a database says of a statement, for who declares an operation of it.
//!
//! Owns the schemas of parameters and columns and the words that tell a write from a query. Runs no
//! statement. INVARIANT: a type is named only if the database names it; what may be NULL, or may
//! not be, for all that is known, takes null.

use provost_plan::catalog::Effect;
use serde_json::{Value, json};

/// A statement as its database describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedStatement {
    /// Its parameters, with a schema where the database knows a type.
    pub parameters: Vec<(String, Option<Value>)>,
    /// The columns of its result, likewise.
    pub columns: Vec<(String, Option<Value>)>,
    /// What it does.
    pub effect: Effect,
}

/// A table as its database describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedTable {
    /// Its name.
    pub name: String,
    /// The names of its columns, in order.
    pub columns: Vec<String>,
    /// Those of them that are its primary key.
    pub key: Vec<String>,
}

/// Words that begin a statement which reads, in the words of either database.
const READS: [&str; 4] = ["select", "values", "table", "with"];
/// Words of a statement that changes or removes what is there.
const OVERWRITES: [&str; 5] = ["update", "delete", "replace", "merge", "truncate"];
/// Joins whose columns may be NULL although those of the table may not.
const OUTER: [&str; 4] = ["left", "right", "full", "outer"];

/// The words of a statement, in small letters. Why those of texts too: one that looks like a write
/// is said to be one, and a person corrects it.
fn words(sql: &str) -> Vec<String> {
    let all = sql.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    all.filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// What a statement does, by its words.
pub(super) fn effect(sql: &str) -> Effect {
    let words = words(sql);
    let has = |word: &str| words.iter().any(|one| one == word);
    let overwrites = OVERWRITES.iter().any(|word| has(word));
    let reads = words
        .first()
        .is_some_and(|word| READS.contains(&word.as_str()));
    let is_with = words.first().is_some_and(|word| word == "with");
    match words.first().map(String::as_str) {
        _ if reads && !is_with => Effect::Read,
        _ if reads && !overwrites && !has("insert") => Effect::Read,
        Some("insert" | "with") if !overwrites => Effect::Write,
        _ => Effect::Destructive,
    }
}

/// Whether a column of the result is what it is in its table: no join or inner query makes it NULL.
pub(super) fn keeps_columns(sql: &str) -> bool {
    let words = words(sql);
    let selects = words.iter().filter(|word| *word == "select").count();
    selects < 2 && !OUTER.iter().any(|word| words.iter().any(|one| one == word))
}

/// The schema that takes null too.
pub(super) fn or_null(schema: Value) -> Value {
    let Value::Object(mut map) = schema else {
        return schema;
    };
    match (map.get("type").cloned(), map.get_mut("enum")) {
        (_, Some(Value::Array(words))) => words.push(Value::Null),
        (Some(one), _) => drop(map.insert("type".to_owned(), json!([one, "null"]))),
        (None, _) => {}
    }
    Value::Object(map)
}

/// The column that a parameter is compared with, as in `total > :least`.
pub(super) fn compared<'s>(sql: &'s str, parameter: &str) -> Option<&'s str> {
    let mark = format!(":{parameter}");
    let ends = |c: char| !(c.is_alphanumeric() || c == '_');
    let found = sql.match_indices(&mark).find(|(at, _)| {
        let after = sql.get(at + mark.len()..).unwrap_or_default();
        after.is_empty() || after.starts_with(ends)
    });
    let before = sql.get(..found?.0)?.trim_end();
    let left = ["<=", ">=", "<>", "!=", "=", "<", ">"]
        .iter()
        .find_map(|sign| before.strip_suffix(sign))?;
    let left = left.trim_end().trim_end_matches(['"', '`', ']']);
    let name = left.rsplit(ends).next()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_statement_does_is_read_from_its_words() {
        for (sql, expected) in [
            ("select 1", Effect::Read),
            ("-- who\nselect 1", Effect::Destructive),
            ("with a as (select 1) select * from a", Effect::Read),
            (
                "with a as (delete from t returning id) select * from a",
                Effect::Destructive,
            ),
            (
                "with a as (select 1) insert into t select * from a",
                Effect::Write,
            ),
            ("insert into t values (1)", Effect::Write),
            ("insert or replace into t values (1)", Effect::Destructive),
            (
                "insert into t values (1) on conflict (a) do update set b = 1",
                Effect::Destructive,
            ),
            ("update t set a = 1", Effect::Destructive),
            ("drop table t", Effect::Destructive),
            ("", Effect::Destructive),
        ] {
            assert_eq!(effect(sql), expected, "{sql}");
        }
    }

    #[test]
    fn a_parameter_is_compared_with_a_column() {
        for (sql, expected) in [
            ("select 1 from t where total >= :a", Some("total")),
            ("select 1 from t where t.total=:a", Some("total")),
            ("select 1 from t where \"total\" = :a", Some("total")),
            (
                "select 1 from t where b = :ab and total < :a",
                Some("total"),
            ),
            ("insert into t values (:a)", None),
            ("select :a", None),
        ] {
            assert_eq!(compared(sql, "a"), expected, "{sql}");
        }
    }
}
