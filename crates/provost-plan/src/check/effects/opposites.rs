//! Operations of which one takes back what the other does, by their names.
//!
//! Owns the pairs of words. INVARIANT: two names are opposite only if they differ in one word, and
//! that word and the other are a pair.

/// What is done, and what takes it back.
const PAIRS: [(&str, &str); 38] = [
    ("open", "close"),
    ("opened", "closed"),
    ("lock", "unlock"),
    ("enable", "disable"),
    ("start", "stop"),
    ("add", "remove"),
    ("add", "delete"),
    ("create", "delete"),
    ("create", "remove"),
    ("insert", "delete"),
    ("grant", "revoke"),
    ("attach", "detach"),
    ("mute", "unmute"),
    ("assign", "unassign"),
    ("publish", "unpublish"),
    ("publish", "withdraw"),
    ("archive", "unarchive"),
    ("archive", "restore"),
    ("delete", "restore"),
    ("suspend", "resume"),
    ("pause", "resume"),
    ("subscribe", "unsubscribe"),
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
    ("block", "unblock"),
    ("freeze", "unfreeze"),
    ("mount", "unmount"),
    ("on", "off"),
];

/// Whether two operations are opposite.
pub(super) fn are(one: &str, two: &str) -> bool {
    let (one, two) = (words(one), words(two));
    if one.len() != two.len() {
        return false;
    }
    let mut differ = one.iter().zip(&two).filter(|(a, b)| a != b);
    let (Some((a, b)), None) = (differ.next(), differ.next()) else {
        return false;
    };
    let is_pair = |a: &str, b: &str| PAIRS.contains(&(a, b));
    is_pair(a, b) || is_pair(b, a)
}

/// The words of a name: `lock_door`, `lock-door` and `lockDoor` have the same.
fn words(name: &str) -> Vec<String> {
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
    use super::are;

    #[test]
    fn opposite_operations_differ_in_one_word_that_has_an_opposite() {
        for (one, two) in [
            ("doors.lock", "doors.unlock"),
            ("host.start_server", "host.stop_server"),
            ("iam.grantRole", "iam.revokeRole"),
            ("dns.remove", "dns.create"),
        ] {
            assert!(are(one, two) && are(two, one), "{one} {two}");
        }
        for (one, two) in [
            ("doors.lock", "gates.unlock"),
            ("doors.lock", "doors.lock"),
            ("doors.lock", "doors.paint"),
            ("host.start_server", "host.stop_disk"),
        ] {
            assert!(!are(one, two) && !are(two, one), "{one} {two}");
        }
    }
}
