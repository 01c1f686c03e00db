//! Roles: narrower allow lists, which a step takes on with `as`.
//!
//! Owns which tools a role admits and the digest of its list. Only the operator writes one; a plan
//! can name it and no more. INVARIANT: a role takes away and never gives: what it admits is decided
//! on by policy all the same, and a role that nobody declared admits nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use super::Catalog;
use crate::digest::{Digest, Domain};

/// What stands for every operation of a server: `git.*`.
const ALL_OF: &str = ".*";

/// A role, as the operator declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// What it is for, as the operator wrote it; planners see this.
    pub description: String,
    /// The tools it admits: names of operations, or `SERVER.*`.
    pub tools: BTreeSet<String>,
}

impl Role {
    /// Whether a step in this role may name the operation called `tool`.
    #[must_use]
    pub fn admits(&self, tool: &str) -> bool {
        let server = tool.split('.').next().unwrap_or(tool);
        self.tools.contains(tool) || self.tools.contains(&all_of(server))
    }

    /// Whether one entry of a list, `SERVER.OPERATION` or `SERVER.*`, stands for an operation.
    #[must_use]
    pub fn is_pattern_of(pattern: &str, tool: &str) -> bool {
        let server = tool.split('.').next().unwrap_or(tool);
        pattern == tool || pattern.strip_suffix(ALL_OF) == Some(server)
    }

    /// The identity of its list. What it is for decides nothing, and does not count.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let value = json!({ "name": self.name, "tools": self.tools });
        Digest::of_value(Domain::Role, &value)
    }
}

/// What stands in a role for every operation of a server.
fn all_of(server: &str) -> String {
    format!("{server}{ALL_OF}")
}

impl Catalog {
    /// The same operations, with these roles over them.
    #[must_use]
    pub fn with_roles(mut self, roles: impl IntoIterator<Item = Role>) -> Self {
        let named = |role: Role| (role.name.clone(), Arc::new(role));
        self.roles = roles.into_iter().map(named).collect();
        self
    }

    /// The role called `name`.
    #[must_use]
    pub fn role(&self, name: &str) -> Option<&Arc<Role>> {
        self.roles.get(name)
    }

    /// All roles, by name.
    pub fn roles(&self) -> impl Iterator<Item = &Arc<Role>> {
        self.roles.values()
    }

    /// Whether a step in the role called `role`, or in none, may name the operation called `tool`.
    /// The one judgment on it, for the check and for the run.
    #[must_use]
    pub fn admits(&self, role: Option<&str>, tool: &str) -> bool {
        role.is_none_or(|role| self.role(role).is_some_and(|role| role.admits(tool)))
    }

    /// Whether `pattern` names an operation, or a server that has one.
    #[must_use]
    pub fn has_any(&self, pattern: &str) -> bool {
        self.patterns().any(|known| known == pattern)
    }

    /// All that a role's list may hold.
    pub fn patterns(&self) -> impl Iterator<Item = String> {
        let servers: BTreeSet<&str> = self.iter().map(|operation| operation.server()).collect();
        let servers: Vec<String> = servers.into_iter().map(all_of).collect();
        self.names().map(str::to_owned).chain(servers)
    }
}

/// The roles of a catalog, by name.
pub(super) type Roles = BTreeMap<String, Arc<Role>>;

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::super::{Effect, Operation};
    use super::*;
    use crate::schema::Schema;

    fn role(name: &str, tools: &str) -> Role {
        Role {
            name: name.to_owned(),
            description: String::new(),
            tools: tools.split_whitespace().map(str::to_owned).collect(),
        }
    }

    #[test]
    fn what_a_role_admits() {
        let table = [
            ("files.read git.*", "files.read", true),
            ("files.read git.*", "git.log", true),
            ("files.read git.*", "git.push", true),
            ("files.read git.*", "files.write", false),
            ("files.read git.*", "github.log", false),
            ("files.read git.*", "git", true),
            ("git.*", "gi", false),
            ("files.read", "files.read_all", false),
            ("", "files.read", false),
        ];
        for (list, tool, expected) in table {
            assert_eq!(role("r", list).admits(tool), expected, "{list}: {tool}");
        }
    }

    #[test]
    fn a_role_that_nobody_declared_admits_nothing() {
        let any = Schema::compile(json!(true)).unwrap();
        let catalog = Catalog::new([Operation::new("git.log", Effect::Read, any)])
            .with_roles([role("reader", "git.*")]);
        let table = [
            (None, "git.log", true),
            (Some("reader"), "git.log", true),
            (Some("reader"), "git.push", true),
            (Some("reader"), "files.read", false),
            (Some("writer"), "git.log", false),
            (Some(""), "git.log", false),
        ];
        for (role, tool, expected) in table {
            assert_eq!(catalog.admits(role, tool), expected, "{role:?}: {tool}");
        }
        for (pattern, expected) in [("git.log", true), ("git.*", true), ("gti.*", false)] {
            assert_eq!(catalog.has_any(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn the_digest_is_of_the_list() {
        let one = role("r", "a.b c.*");
        assert_eq!(one.digest(), role("r", "c.* a.b").digest());
        let described = Role {
            description: "looks".to_owned(),
            ..one.clone()
        };
        assert_eq!(one.digest(), described.digest());
        assert_ne!(one.digest(), role("r", "a.b").digest());
        assert_ne!(one.digest(), role("s", "a.b c.*").digest());
    }
}
