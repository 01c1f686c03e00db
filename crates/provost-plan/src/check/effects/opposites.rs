//! Operations of which one takes back what the other does.
//!
//! Owns the judgment on two operations; that they reach one target is looked at elsewhere. First
//! comes what the plan declares: where any step says that `undo` of the one is the other, they are
//! opposite in every step. Then come the names: a plan that both grants and revokes mostly declares
//! neither as the `undo` of the other, because both are wanted, and no entry of a tool says what
//! takes it back. INVARIANT: two names are opposite only if they differ in one word, and that word
//! and the other are a pair.

use std::collections::BTreeSet;

use crate::plan::Plan;

/// What is done, and what takes it back.
const PAIRS: [(&str, &str); 29] = [
    ("open", "close"),
    ("opened", "closed"),
    ("enable", "disable"),
    ("start", "stop"),
    ("add", "remove"),
    ("add", "delete"),
    ("create", "delete"),
    ("create", "remove"),
    ("insert", "delete"),
    ("grant", "revoke"),
    ("attach", "detach"),
    ("publish", "withdraw"),
    ("archive", "restore"),
    ("delete", "restore"),
    ("suspend", "resume"),
    ("pause", "resume"),
    ("activate", "deactivate"),
    ("hold", "release"),
    ("reserve", "release"),
    ("take", "drop"),
    ("book", "cancel"),
    ("order", "cancel"),
    ("allow", "deny"),
    ("approve", "reject"),
    ("show", "hide"),
    ("connect", "disconnect"),
    ("register", "deregister"),
    ("pin", "unpin"),
    ("on", "off"),
];

/// Which operations are opposite in a plan.
pub(crate) struct Opposites<'p> {
    declared: BTreeSet<(&'p str, &'p str)>,
}

impl<'p> Opposites<'p> {
    pub(crate) fn of(plan: &'p Plan) -> Self {
        let declared = plan.steps.iter().filter_map(|step| {
            let (tool, undo) = (step.tool()?, step.undo.as_ref()?);
            Some((tool.value.as_str(), undo.tool.value.as_str()))
        });
        Self {
            declared: declared.collect(),
        }
    }

    /// Whether two operations are opposite.
    pub(crate) fn are(&self, one: &str, two: &str) -> bool {
        let declared = |pair: (&str, &str)| self.declared.contains(&pair);
        declared((one, two)) || declared((two, one)) || by_name(one, two)
    }
}

/// Fewest letters of a word that `un` before it turns round: a `unit` takes no `it` back.
const UNDONE_CHARS_MIN: usize = 4;

/// Whether two operations are opposite by their names.
pub(crate) fn by_name(one: &str, two: &str) -> bool {
    let (one, two) = (words(one), words(two));
    if one.len() != two.len() {
        return false;
    }
    let mut differ = one.iter().zip(&two).filter(|(a, b)| a != b);
    let (Some((a, b)), None) = (differ.next(), differ.next()) else {
        return false;
    };
    // Why without `re`: what was closed is opened again by `reopen`.
    let again = |word: &str| word.strip_prefix("re").map(str::to_owned);
    let is_undone =
        |a: &str, b: &str| b.strip_prefix("un") == Some(a) && a.chars().count() >= UNDONE_CHARS_MIN;
    let is_pair = |a: &str, b: &str| {
        let is = |b: &str| PAIRS.contains(&(a, b)) || PAIRS.contains(&(b, a)) || is_undone(a, b);
        is(b) || again(b).is_some_and(|b| is(&b))
    };
    is_pair(a, b) || is_pair(b, a)
}

/// The words of a name: `lock_door`, `lock-door` and `lockDoor` have the same.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::by_name as are;

    #[test]
    fn opposite_operations_differ_in_one_word_that_has_an_opposite() {
        for (one, two) in [
            ("doors.lock", "doors.unlock"),
            ("host.start_server", "host.stop_server"),
            ("iam.grantRole", "iam.revokeRole"),
            ("dns.remove", "dns.create"),
            ("register.close_case", "register.reopen_case"),
            ("cargo.hold", "cargo.unhold"),
        ] {
            assert!(are(one, two) && are(two, one), "{one} {two}");
        }
        for (one, two) in [
            ("doors.lock", "gates.unlock"),
            ("doors.lock", "doors.lock"),
            ("doors.lock", "doors.paint"),
            ("host.start_server", "host.stop_disk"),
            ("case.open", "case.reopen"),
            ("shop.it", "shop.unit"),
        ] {
            assert!(!are(one, two) && !are(two, one), "{one} {two}");
        }
    }
}
