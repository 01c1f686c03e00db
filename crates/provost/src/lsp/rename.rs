//! The places of a text that name a step, so that all of them get another name.
//!
//! Owns finding them by lines and marks, as [`super::words`] does. Decides nothing: whether the
//! plan is the same under the new name is for the check, which is asked before the edits are given.

use super::words;

/// Fields whose values are ids of steps.
const FIELDS: [&str; 3] = ["after", "cites", "needs"];
/// Longest name of a step.
const NAME_MAX: usize = 40;

/// Whether a step can have this name, as far as its letters go.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(plain)
        && name.len() <= NAME_MAX
}

/// Where `id` stands as the name of a step, from the first byte on.
pub fn places(text: &str, id: &str) -> Vec<usize> {
    let defined = words::steps(text).into_iter();
    let defined = defined.filter(|step| step.id == id).map(|step| step.start);
    let read = whole(text, "steps").filter_map(|at| {
        let from = at + "steps.".len();
        let after = text.get(from - 1..)?.strip_prefix('.')?;
        let named = after.strip_prefix(id)?;
        (!named.starts_with(is_inside)).then_some(from)
    });
    let fields = FIELDS.iter().flat_map(|field| {
        let values = whole(text, field).filter_map(move |at| {
            let from = at + field.len() + 1;
            text.get(from - 1..)?.strip_prefix(':')?;
            Some((from, value(text.get(from..)?)))
        });
        values.flat_map(|(from, value)| whole(value, id).map(move |at| from + at))
    });
    let mut all: Vec<usize> = defined.chain(read).chain(fields).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn is_inside(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where a word stands on its own.
fn whole<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    text.match_indices(word).filter_map(move |(at, _)| {
        let before = text.get(..at)?.chars().next_back();
        let after = text.get(at + word.len()..)?.chars().next();
        let alone = |c: Option<char>| !c.is_some_and(|c| is_inside(c) || c == '-');
        (alone(before) && before != Some('.') && alone(after)).then_some(at)
    })
}

/// The value of a field: a list in brackets, the rest of the line, or the items below it.
fn value(rest: &str) -> &str {
    let inner = rest.trim_start_matches(' ');
    let line = inner
        .split(['\n', ',', '}', '#'])
        .next()
        .unwrap_or_default();
    let end = if inner.starts_with('[') {
        inner.find(']').unwrap_or(inner.len())
    } else if line.trim().is_empty() {
        let items = inner.split_inclusive('\n').skip(1);
        let items = items.take_while(|line| line.trim_start().starts_with("- "));
        let first = inner.find('\n').map_or(inner.len(), |at| at + 1);
        first + items.map(str::len).sum::<usize>()
    } else {
        line.len()
    };
    rest.get(..rest.len() - inner.len() + end).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_wherever_it_is_named_and_nowhere_else() {
        let text = "steps:\n  - id: page\n    after: [first, page]\n  - { id: next, needs: page }\n\
                    let:\n  a: ${ steps.page.output.page + steps.pages.output.steps.page }\n\
                    cites:\n  - page\n  - pager\ntext: page # after page\nafter: page\n";
        let found = places(text, "page");
        let shown: Vec<&str> = found
            .iter()
            .filter_map(|at| text.get(at.saturating_sub(6)..at + 4))
            .collect();
        assert_eq!(
            shown,
            [
                "- id: page",
                "irst, page",
                "eeds: page",
                "steps.page",
                ":\n  - page",
                "fter: page"
            ]
        );
        assert!(places(text, "nobody").is_empty());
        for name in ["", "A", "a b", "a-b", "1a", "a:"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
