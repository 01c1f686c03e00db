//! People: who may ask for a run, who may answer, which groups they are in.
//!
//! Owns the format of `policies/entities.json`:
//! `{"users": {"ada": {"groups": ["oncall"], "roles": ["approver"], "key": "ed25519:…"}}}`. A role
//! is a group by another name: policies see both as `Group`, and `@approver` names either. A key is
//! the public key that the person's statements are signed with; `former_keys` are those of earlier
//! ones, which a journal may still bear. `"groups": ["oncall"]` beside `users` names groups that
//! may be empty. INVARIANT: a name that is not listed is in no group and has no key, and what is
//! made now counts with the key of now alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Principal, PrincipalKind};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::node::{Fields, Kind, Node, parse_yaml};
use crate::source::{Source, Spanned};

/// Longest name of a person, group or role, in characters.
const NAME_CHARS_MAX: usize = 80;

/// The people of a workspace, with their groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct People {
    users: BTreeMap<String, BTreeSet<String>>,
    keys: BTreeMap<String, String>,
    former_keys: BTreeMap<String, Vec<String>>,
    /// Groups that are there even while nobody is in them.
    groups: BTreeSet<String>,
}

impl People {
    /// Reads `policies/entities.json`. Unknown keys are refused.
    ///
    /// # Errors
    /// Every finding, in the order of the text.
    pub fn read(source: &Source) -> Result<Self, Vec<Diagnostic>> {
        let node = parse_yaml(&source.text).map_err(|finding| vec![*finding])?;
        let mut diagnostics = Vec::new();
        let mut people = Self::default();
        if let Some(mut fields) = Fields::new("the list of people", &node, &mut diagnostics) {
            let users = fields.map("users").unwrap_or_default();
            let groups = fields.texts("groups");
            fields.finish();
            for group in groups {
                check_name(&group, "a group", &mut diagnostics);
                people.groups.insert(group.value);
            }
            for (name, user) in users {
                check_name(name, "a user", &mut diagnostics);
                let User {
                    groups,
                    key,
                    former_keys,
                } = read_user(name, user, &mut diagnostics);
                people.users.insert(name.value.clone(), groups);
                people.keys.extend(key.map(|key| (name.value.clone(), key)));
                people.former_keys.insert(name.value.clone(), former_keys);
            }
        }
        if diagnostics.is_empty() {
            Ok(people)
        } else {
            Err(diagnostics)
        }
    }

    /// The person called `id`, with their groups; in no group if not listed.
    #[must_use]
    pub fn principal(&self, id: &str) -> Principal {
        Principal {
            kind: PrincipalKind::User,
            id: id.to_owned(),
            groups: self.users.get(id).cloned().unwrap_or_default(),
        }
    }

    /// Whether the person is listed.
    #[must_use]
    pub fn is_listed(&self, id: &str) -> bool {
        self.users.contains_key(id)
    }

    /// The groups that are declared, or that somebody is in.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        let of_people = self.users.values().flatten();
        self.groups.iter().chain(of_people).map(String::as_str)
    }

    /// The names of all listed people, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.users.keys().map(String::as_str)
    }

    /// The public key of a person, as text (`ed25519:` and base64), if there is one.
    #[must_use]
    pub fn key(&self, id: &str) -> Option<&str> {
        self.keys.get(id).map(String::as_str)
    }

    /// The key of a person and those they had before: a journal may bear a signature of each.
    pub fn keys_ever(&self, id: &str) -> impl Iterator<Item = &str> {
        let former = self.former_keys.get(id).into_iter().flatten();
        self.key(id).into_iter().chain(former.map(String::as_str))
    }

    /// What policies can see of people, in the form of the file.
    pub(super) fn seen_value(&self) -> Value {
        let user = |(name, groups): (&String, &BTreeSet<String>)| {
            let user = match self.key(name) {
                Some(key) => json!({ "groups": groups, "key": key }),
                None => json!({ "groups": groups }),
            };
            (name.clone(), user)
        };
        let users: BTreeMap<_, _> = self.users.iter().map(user).collect();
        json!({ "users": users })
    }

    pub(super) fn value(&self) -> Value {
        if self.keys.is_empty() {
            // Why: people without keys have the digest they had before there were keys.
            return json!(self.users);
        }
        json!({ "users": self.users, "keys": self.keys })
    }
}

/// What is said of one person.
#[derive(Default)]
struct User {
    groups: BTreeSet<String>,
    key: Option<String>,
    former_keys: Vec<String>,
}

fn read_user(name: &Spanned<String>, node: &Node, diagnostics: &mut Vec<Diagnostic>) -> User {
    let mut user = User::default();
    if node.kind == Kind::Null {
        return user;
    }
    let owner = format!("user `{}`", name.value);
    let Some(mut fields) = Fields::new(owner, node, diagnostics) else {
        return user;
    };
    for (key, what) in [("groups", "a group"), ("roles", "a role")] {
        for group in fields.texts(key) {
            check_name(&group, what, fields.diagnostics());
            user.groups.insert(group.value);
        }
    }
    let key = fields.text("key");
    let former_keys = fields.texts("former_keys");
    let keys = key.iter().chain(&former_keys);
    let wrong: Vec<_> = keys.filter(|key| !is_public_key(&key.value)).collect();
    for key in wrong {
        let message = "a public key is `ed25519:` and 44 base64 characters";
        fields.diagnostics().push(
            Diagnostic::new(Code::BadName, key.span, message)
                .hint("whoever makes a key is shown the line to put here"),
        );
    }
    fields.finish();
    user.key = key.map(|key| key.value);
    user.former_keys = former_keys.into_iter().map(|key| key.value).collect();
    user
}

/// Whether a text has the form of an Ed25519 public key: 32 bytes in base64, written one way only.
fn is_public_key(text: &str) -> bool {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    // Why: the last character stands for four bits of the key and two that must be zero.
    let ends = |body: &str| body.ends_with(|c: char| "AEIMQUYcgkosw048".contains(c));
    text.strip_prefix("ed25519:")
        .and_then(|text| text.strip_suffix('='))
        .is_some_and(|body| body.len() == 43 && body.chars().all(is_base64) && ends(body))
}

fn check_name(name: &Spanned<String>, what: &str, diagnostics: &mut Vec<Diagnostic>) {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | '+');
    let fits = (1..=NAME_CHARS_MAX).contains(&name.value.chars().count());
    if fits && name.value.chars().all(allowed) {
        return;
    }
    let message = format!("the name of {what} must be 1 to {NAME_CHARS_MAX} letters and digits");
    diagnostics.push(
        Diagnostic::new(Code::BadName, name.span, message)
            .hint("besides letters and digits, `.` `-` `_` `@` and `+` may stand in it"),
    );
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn read(text: &str) -> Result<People, Vec<String>> {
        People::read(&Source::new("entities.json", text)).map_err(|all| {
            all.into_iter()
                .map(|d| format!("{}: {}", d.code, d.message))
                .collect()
        })
    }

    #[test]
    fn groups_and_roles_are_one() {
        let people =
            read(r#"{"users": {"ada": {"groups": ["oncall"], "roles": ["approver"]}, "bo": {}}}"#)
                .unwrap();
        let ada = people.principal("ada");
        assert_eq!(
            ada.groups.iter().map(String::as_str).collect::<Vec<_>>(),
            ["approver", "oncall"]
        );
        assert!(people.is_listed("bo") && people.principal("bo").groups.is_empty());
        assert!(!people.is_listed("eve") && people.principal("eve").groups.is_empty());
        assert_eq!(people.names().collect::<Vec<_>>(), ["ada", "bo"]);
    }

    #[test]
    fn a_key_is_one_text_and_changes_who_people_are() {
        let with = |key: &str| read(&format!(r#"{{"users": {{"ada": {{"key": "{key}"}}}}}}"#));
        let key = "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let people = with(key).unwrap();
        assert_eq!((people.key("ada"), people.key("bo")), (Some(key), None));
        let none = read(r#"{"users": {"ada": {}}}"#).unwrap();
        assert_ne!(people.value(), none.value());
        assert_eq!(none.value(), json!({ "ada": [] }));
        for bad in [
            "",
            "ed25519:",
            "AAAA",
            key.trim_end_matches('='),
            &key.replace("A=", "B="),
        ] {
            let found = with(bad).unwrap_err().join("");
            assert!(found.starts_with("P010: a public key is"), "{bad}: {found}");
        }
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        let table = [
            (
                r#"{"user": {}}"#,
                "P004: the list of people has no field `user`",
            ),
            (
                r#"{"users": {"ada": {"group": []}}}"#,
                "P004: user `ada` has no field `group`",
            ),
            (
                r#"{"users": ["ada"]}"#,
                "P006: `users` must be a map, not a list",
            ),
            (
                r#"{"users": {"ada": ["oncall"]}}"#,
                "P006: user `ada` must be a map, not a list",
            ),
            (
                r#"{"users": {"a b": {}}}"#,
                "P010: the name of a user must be 1 to 80 letters and digits",
            ),
            (
                r#"{"users": {"ada": {"groups": [1]}}}"#,
                "P006: `groups` must be a text, not a number",
            ),
            (r#"{"users": {"ada": {}, "ada": {}}}"#, "P003"),
        ];
        for (text, expected) in table {
            let found = read(text).unwrap_err().join("\n");
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }
}
