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
/// What adds the rows of another query.
const SET_OPERATIONS: [&str; 3] = ["union", "intersect", "except"];
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
    let words = words(before_where(sql));
    let selects = words.iter().filter(|word| *word == "select").count();
    selects < 2 && !OUTER.iter().any(|word| words.iter().any(|one| one == word))
}

/// What stands before the condition of a statement: a condition leaves rows out and changes none.
/// All of it where texts or comments could hide a `where`, or where a second query follows.
fn before_where(sql: &str) -> &str {
    let (mut depth, mut word) = (0_usize, 0);
    for (at, c) in sql.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '\'' | '"' | '`' | '[' | '-' | '/' | '$' => return sql,
            _ => {}
        }
        if c.is_alphanumeric() || c == '_' {
            continue;
        }
        let (before, after) = (sql.get(..word), sql.get(at..));
        let is_where = sql
            .get(word..at)
            .is_some_and(|word| word.eq_ignore_ascii_case("where"));
        word = at + c.len_utf8();
        // Why 0 or before a parenthesis: `where(` opens one with the character that ends the word.
        let outside = depth == 0 || (depth == 1 && c == '(');
        if let (true, true, Some(before), Some(after)) = (is_where, outside, before, after) {
            let joins_another = |word: &String| SET_OPERATIONS.contains(&word.as_str());
            return if words(after).iter().any(joins_another) {
                sql
            } else {
                before
            };
        }
    }
    sql
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
    fn a_condition_changes_no_column() {
        for (sql, keeps) in [
            ("select a from t where b in (select b from u)", true),
            (
                "select a from t\nWHERE(exists (select 1 from u left join v on x = y))",
                true,
            ),
            ("select a from t join u on t.b = u.b where t.c = 1", true),
            (
                "select a from t left join u on t.b = u.b where t.c = 1",
                false,
            ),
            (
                "select (select a from u where c = 1) as a from t where b = 1",
                false,
            ),
            (
                "select a from (select a from t left join u) where a = 1",
                false,
            ),
            (
                "with t as (select null as a where true) select a from t where 1 = 1",
                false,
            ),
            (
                "select a from t where b = 1 union select null from u",
                false,
            ),
            ("select ' where ' || a, (select a from u) from t", false),
            ("select a /* where */, (select a from u) from t", false),
            ("select everywhere, (select a from u) from t", false),
        ] {
            assert_eq!(keeps_columns(sql), keeps, "{sql}");
        }
    }

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
