//! Parameters of an SQL text: `:name`, and nothing else.
//!
//! Owns finding them without a database. Never rewrites the text. INVARIANT: what stands in
//! quotes or comments is no parameter.

use std::collections::BTreeSet;

/// A parameter written in a form that is not carried by name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the parameter `{written}` is not of the form `:name`")]
pub(crate) struct ParameterError {
    written: String,
}

/// The names of the parameters in `sql`, without the colon.
pub(crate) fn named(sql: &str) -> Result<BTreeSet<String>, ParameterError> {
    let mut names = BTreeSet::new();
    let mut chars = sql.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' | '`' => skip_past(&mut chars, c),
            '[' => skip_past(&mut chars, ']'),
            '-' if chars.peek() == Some(&'-') => skip_past(&mut chars, '\n'),
            '/' if chars.peek() == Some(&'*') => skip_comment(&mut chars),
            ':' | '@' | '$' | '?' => {
                let mut name = String::new();
                while let Some(part) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    name.push(part);
                }
                if c != ':' || name.is_empty() {
                    let written = format!("{c}{name}");
                    return Err(ParameterError { written });
                }
                names.insert(name);
            }
            c if c.is_alphanumeric() || c == '_' => {
                // Why: `$` may stand inside a name.
                while chars
                    .next_if(|c| c.is_alphanumeric() || "_$".contains(*c))
                    .is_some()
                {}
            }
            _ => {}
        }
    }
    Ok(names)
}

fn skip_past(chars: &mut impl Iterator<Item = char>, end: char) {
    // Why: a doubled quote ends one text and begins the next, which comes to the same.
    for c in chars {
        if c == end {
            return;
        }
    }
}

fn skip_comment(chars: &mut impl Iterator<Item = char>) {
    let mut star = false;
    // Why: the `*` that opens the comment does not close it.
    for c in chars.skip(1) {
        if star && c == '/' {
            return;
        }
        star = c == '*';
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::named;

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
            let found = named(sql).unwrap().into_iter().collect::<Vec<_>>();
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
            assert!(named(sql).is_err(), "{sql}");
        }
    }
}
