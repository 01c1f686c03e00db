//! Parameters of an SQL text: `:name`, and nothing else.
//!
//! Owns finding them without a database, in the words of SQLite or of PostgreSQL, and writing
//! `$1` in their place for the latter. INVARIANT: what stands in quotes or comments is no
//! parameter.

use std::collections::BTreeSet;

/// Whose words a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A parameter written in a form that is not carried by name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the parameter `{written}` is not of the form `:name`")]
pub(crate) struct ParameterError {
    written: String,
}

/// The names of the parameters in `sql`, without the colon.
pub(crate) fn named(sql: &str, dialect: Dialect) -> Result<BTreeSet<String>, ParameterError> {
    let mut names = BTreeSet::new();
    parse(sql, dialect, |piece| {
        if let Piece::Parameter(name) = piece {
            names.insert(name.to_owned());
        }
    })?;
    Ok(names)
}

/// A text of PostgreSQL with `$1`, `$2` … in place of its parameters, and their names in order.
pub(crate) fn numbered(sql: &str) -> Result<(String, Vec<String>), ParameterError> {
    let (mut text, mut names) = (String::with_capacity(sql.len()), Vec::<String>::new());
    parse(sql, Dialect::Postgres, |piece| match piece {
        Piece::Plain(plain) => text.push_str(plain),
        Piece::Parameter(name) => {
            let known = names.iter().position(|one| one == name);
            let at = known.unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            });
            text.push('$');
            text.push_str(&(at + 1).to_string());
        }
    })?;
    Ok((text, names))
}

enum Piece<'a> {
    Plain(&'a str),
    Parameter(&'a str),
}

/// Tells `found` of every piece of `sql`, in order.
fn parse<'a>(
    sql: &'a str,
    dialect: Dialect,
    mut found: impl FnMut(Piece<'a>),
) -> Result<(), ParameterError> {
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = match dialect {
            Dialect::Sqlite => plain_of_sqlite(rest, first),
            Dialect::Postgres => plain_of_postgres(rest, first),
        };
        if length > 0 {
            let (plain, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            found(Piece::Plain(plain));
            rest = after;
            continue;
        }
        let name = word(rest.get(1..).unwrap_or_default());
        if first != ':' || name.is_empty() {
            let written = format!("{first}{name}");
            return Err(ParameterError { written });
        }
        found(Piece::Parameter(name));
        rest = rest.get(1 + name.len()..).unwrap_or_default();
    }
    Ok(())
}

/// The letters, digits and `_` at the beginning.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    end.map_or(text, |end| text.get(..end).unwrap_or(text))
}

/// How long a name or number at the beginning is. Why `$`: it may stand inside a name.
fn name_length(text: &str) -> usize {
    let inside = |c: char| c.is_alphanumeric() || "_$".contains(c);
    text.find(|c| !inside(c)).unwrap_or(text.len())
}

/// How many bytes at the beginning hold no parameter; 0 where one begins.
fn plain_of_sqlite(rest: &str, first: char) -> usize {
    match first {
        '\'' | '"' | '`' => past(rest, 1, &first.to_string()),
        '[' => past(rest, 1, "]"),
        '-' if rest.starts_with("--") => past(rest, 2, "\n"),
        '/' if rest.starts_with("/*") => past(rest, 2, "*/"),
        ':' | '@' | '$' | '?' => 0,
        c if c.is_alphanumeric() || c == '_' => name_length(rest),
        c => c.len_utf8(),
    }
}

/// The same for PostgreSQL, whose `::`, `:=`, `?` and `@` are operators, whose texts may stand in
/// `$tag$` and whose comments nest.
fn plain_of_postgres(rest: &str, first: char) -> usize {
    match first {
        '\'' | '"' => past(rest, 1, &first.to_string()),
        'e' | 'E' if rest.get(1..2) == Some("'") => past_escaped(rest),
        '-' if rest.starts_with("--") => past(rest, 2, "\n"),
        '/' if rest.starts_with("/*") => past_nested(rest),
        '$' => dollar_quoted(rest),
        ':' => match rest.as_bytes().get(1) {
            Some(b':' | b'=') => 2,
            // Why: the end of a slice, as in `a[1:2]`.
            Some(b) if b.is_ascii_digit() => 1,
            _ => 0,
        },
        c if c.is_alphanumeric() || c == '_' => name_length(rest),
        c => c.len_utf8(),
    }
}

/// Past the next `end` after the first `from` bytes. Why it takes a doubled quote: that ends one
/// text and begins the next, which comes to the same.
fn past(text: &str, from: usize, end: &str) -> usize {
    let inside = text.get(from..).unwrap_or_default();
    let found = inside.find(end).map(|at| from + at + end.len());
    found.unwrap_or(text.len())
}

/// Past a text such as `E'it\'s'`.
fn past_escaped(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(2) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn past_nested(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0u32);
    while let Some(here) = text.get(at..).filter(|here| !here.is_empty()) {
        if here.starts_with("/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if here.starts_with("*/") {
            (at, depth) = (at + 2, depth.saturating_sub(1));
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Past `$$ … $$` or `$tag$ … $tag$`; 0 where none begins.
fn dollar_quoted(text: &str) -> usize {
    let tag = word(text.get(1..).unwrap_or_default());
    let length = tag.len() + 2;
    match text.get(..length) {
        Some(mark) if mark.ends_with('$') && !tag.starts_with(|c: char| c.is_ascii_digit()) => {
            past(text, length, mark)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::Dialect::{Postgres, Sqlite};
    use super::{named, numbered};

    #[test]
    fn finds_names_outside_of_quotes_and_comments() {
        let cases = [
            ("SELECT 1", ""),
            ("SELECT :a, :b_2 WHERE x=:a", "a b_2"),
            (
                "SELECT ':no', \":no\", `:no`, [:no], 'it''s :no', :yes",
                "yes",
            ),
            ("SELECT 1 -- :no\n, :yes", "yes"),
            ("SELECT 1 /* :no * / :no */, :yes", "yes"),
            (
                "SELECT json_extract(x, '$.a') FROM t$1 WHERE a>:lo/:hi",
                "hi lo",
            ),
            ("SELECT 'open :no", ""),
            ("SELECT /*/ :no */ :yes", "yes"),
        ];
        for (sql, expected) in cases {
            let found = named(sql, Sqlite).unwrap().into_iter().collect::<Vec<_>>();
            assert_eq!(found.join(" "), expected, "{sql}");
        }
    }

    #[test]
    fn refuses_other_forms() {
        for sql in [
            "SELECT ?",
            "SELECT ?1",
            "SELECT @x",
            "SELECT $x",
            "SELECT : x",
        ] {
            assert!(named(sql, Sqlite).is_err(), "{sql}");
        }
    }

    #[test]
    fn numbers_them_in_the_words_of_postgresql() {
        let cases = [
            ("SELECT 1", "SELECT 1", ""),
            (
                "SELECT :a, :b WHERE x=:a",
                "SELECT $1, $2 WHERE x=$1",
                "a b",
            ),
            (
                "SELECT :a::int, x[1:2], x::text",
                "SELECT $1::int, x[1:2], x::text",
                "a",
            ),
            ("SELECT f(n := :a)", "SELECT f(n := $1)", "a"),
            (
                "SELECT E'\\':no', 'a''b:no', :a",
                "SELECT E'\\':no', 'a''b:no', $1",
                "a",
            ),
            (
                "SELECT $$:no$$, $t$:no $$ $t$, :a",
                "SELECT $$:no$$, $t$:no $$ $t$, $1",
                "a",
            ),
            (
                "/* /* :no */ :no */ SELECT :a",
                "/* /* :no */ :no */ SELECT $1",
                "a",
            ),
            (
                "SELECT a ? 'b', a @> :c -- :no",
                "SELECT a ? 'b', a @> $1 -- :no",
                "c",
            ),
            ("SELECT '[' || :a", "SELECT '[' || $1", "a"),
            ("SELECT E'open \\", "SELECT E'open \\", ""),
        ];
        for (sql, text, names) in cases {
            let (found, order) = numbered(sql).unwrap();
            assert_eq!(
                (found.as_str(), order.join(" ").as_str()),
                (text, names),
                "{sql}"
            );
            let sorted = named(sql, Postgres).unwrap();
            assert_eq!(sorted.len(), order.len(), "{sql}");
        }
        for sql in ["SELECT $1", "SELECT : a", "SELECT x:"] {
            assert!(numbered(sql).is_err(), "{sql}");
        }
    }
}
