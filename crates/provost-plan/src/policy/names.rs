//! The names that a policy mentions: tags, groups, people, roles.
//!
//! Owns reading them from Cedar's trees, and the judgment on those that stand for nothing. Never
//! decides a call. INVARIANT: a name that stands for nothing refuses the policy; only where no
//! people are listed yet, one that nobody guards by is a warning.

use std::cell::RefCell;
use std::collections::BTreeSet;

use cedar_policy::pst::{
    BinaryOp, Clause, EntityOrSlot, EntityUID, Expr, Literal, PatternElem, PrincipalConstraint,
    Template, Var,
};

use super::People;
use super::load::PolicyEntry;
use super::mentions::{expression, is_of_args};
use crate::catalog::{Catalog, Tags};
use crate::diagnostic::nearest;

/// What a policy mentions.
#[derive(Debug, Default)]
pub(super) struct PolicyNames {
    /// Whether it looks at who asks.
    pub principal: bool,
    /// Attributes of anything.
    pub attributes: BTreeSet<String>,
    /// Tags.
    pub tags: BTreeSet<String>,
    /// Groups of people.
    pub groups: BTreeSet<String>,
    /// People.
    pub users: BTreeSet<String>,
    /// Names that the role of a call is compared with.
    pub roles: BTreeSet<String>,
    /// Texts that fit the patterns it is compared with.
    pub like: BTreeSet<String>,
    /// Names that the operation of a card or a settlement is compared with.
    pub operations: BTreeSet<String>,
    /// The patterns that it is compared with.
    operations_like: Vec<Pattern>,
}

impl PolicyNames {
    /// Those of a policy.
    pub fn of(tree: &Template) -> Self {
        let mut names = Self::default();
        match &tree.principal {
            PrincipalConstraint::Any => {}
            PrincipalConstraint::Eq(of)
            | PrincipalConstraint::In(of)
            | PrincipalConstraint::IsIn(_, of) => {
                names.principal = true;
                if let EntityOrSlot::Entity(uid) = of {
                    names.entity(uid);
                }
            }
            PrincipalConstraint::Is(_) => names.principal = true,
        }
        names.read(tree.clauses());
        names
    }

    /// Those of the conditions under which a policy does not apply.
    fn of_unless(tree: &Template) -> Self {
        let mut names = Self::default();
        let clauses = tree.clauses().iter();
        let unless: Vec<Clause> = clauses
            .filter(|clause| matches!(clause, Clause::Unless(_)))
            .cloned()
            .collect();
        names.read(&unless);
        names
    }

    /// Whether a call with the tag may be decided on otherwise than one without it.
    pub fn looks_at_tag(&self, tag: &str) -> bool {
        let by_risk = Tags::OF_RISK.contains(&tag) && self.looks_at(&["risk"]);
        // Why: a set of tags that is looked at as a whole may hold any of them.
        let as_whole = self.tags.is_empty() && self.looks_at(&["tags"]);
        self.tags.contains(tag) || by_risk || as_whole
    }

    /// Whether one of these attributes is looked at.
    pub fn looks_at(&self, attributes: &[&str]) -> bool {
        attributes
            .iter()
            .any(|name| self.attributes.contains(*name))
    }

    fn read(&mut self, clauses: &[Clause]) {
        let names = RefCell::new(self);
        let visit = |expr: &Expr| -> Option<()> {
            names.borrow_mut().expression(expr);
            None
        };
        for clause in clauses {
            expression(clause).reduce(&visit, &|(), ()| (), ());
        }
    }

    fn expression(&mut self, expr: &Expr) {
        match expr {
            Expr::Literal(Literal::EntityUID(uid)) => self.entity(uid),
            Expr::Var(Var::Principal) => self.principal = true,
            Expr::GetAttr { attr, .. } => {
                self.attributes.insert(attr.to_string());
            }
            Expr::HasAttr { attrs, .. } => {
                self.attributes
                    .extend(attrs.iter().map(ToString::to_string));
            }
            Expr::BinaryOp { op, left, right } => self.comparison(*op, left, right),
            Expr::Like { expr, pattern } if is_attribute(expr, "role") => {
                // Why: a text without anything for its wildcards fits a pattern like any other.
                self.like
                    .insert(pattern_of(pattern).into_iter().flatten().collect());
            }
            Expr::Like { expr, pattern } if is_attribute(expr, "operation") => {
                self.operations_like.push(pattern_of(pattern));
            }
            _ => {}
        }
    }

    fn comparison(&mut self, op: BinaryOp, left: &Expr, right: &Expr) {
        let of_set = matches!(
            op,
            BinaryOp::Contains | BinaryOp::ContainsAny | BinaryOp::ContainsAll
        );
        let of_words = matches!(op, BinaryOp::Eq | BinaryOp::NotEq);
        for (one, other) in [(left, right), (right, left)] {
            if (of_set || of_words) && is_attribute(one, "tags") {
                texts_of(other, &mut self.tags);
            }
            if (of_words || op == BinaryOp::Contains) && is_attribute(one, "role") {
                texts_of(other, &mut self.roles);
            }
            if (of_words || op == BinaryOp::Contains) && is_attribute(one, "operation") {
                texts_of(other, &mut self.operations);
            }
        }
    }

    fn entity(&mut self, uid: &EntityUID) {
        let name = uid.eid.to_string();
        match uid.ty.to_string().as_str() {
            "Group" => self.groups.insert(name),
            "User" => self.users.insert(name),
            _ => false,
        };
    }
}

/// Whether an expression is an attribute of this name, and no argument of a call.
fn is_attribute(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::GetAttr { expr, attr } if attr == name && !is_of_args(expr))
}

/// A text with places for any other text: a character each, or none for a place.
type Pattern = Vec<Option<char>>;

fn pattern_of(elements: &[PatternElem]) -> Pattern {
    let one = |part: &PatternElem| match part {
        PatternElem::Char(c) => Some(*c),
        PatternElem::Wildcard => None,
    };
    elements.iter().map(one).collect()
}

fn fits(pattern: &[Option<char>], text: &str) -> bool {
    let Some((first, rest)) = pattern.split_first() else {
        return text.is_empty();
    };
    match first {
        Some(c) => text.strip_prefix(*c).is_some_and(|text| fits(rest, text)),
        None if rest.is_empty() => true,
        None => {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter()
                .any(|at| fits(rest, text.get(at..).unwrap_or_default()))
        }
    }
}

/// Every text in an expression.
fn texts_of(expr: &Expr, into: &mut BTreeSet<String>) {
    let texts = RefCell::new(into);
    let visit = |expr: &Expr| -> Option<()> {
        if let Expr::Literal(Literal::String(text)) = expr {
            texts.borrow_mut().insert(text.to_string());
        }
        None
    };
    expr.reduce(&visit, &|(), ()| (), ());
}

/// The names that there are.
#[derive(Debug)]
pub(super) struct KnownNames {
    /// Declared tags, and those that an operation bears.
    pub tags: BTreeSet<String>,
    /// Declared roles of steps.
    pub roles: BTreeSet<String>,
    operations: BTreeSet<String>,
    groups: BTreeSet<String>,
    users: BTreeSet<String>,
    /// The tags that an operation bears, and the workspace's own.
    in_use: BTreeSet<String>,
}

/// A name in a policy that stands for nothing.
#[derive(Debug)]
pub(super) struct UnknownName {
    /// The name as it is written, with its quotes.
    pub written: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Whether the policy does not load with it.
    pub refuses: bool,
}

impl KnownNames {
    /// Those of a workspace.
    pub fn of(catalog: &Catalog, people: &People) -> Self {
        let borne = catalog.iter().flat_map(|operation| operation.tags.iter());
        let own = catalog.tags().own().map(|(tag, _)| tag.to_owned());
        let in_use: BTreeSet<String> = own.chain(borne.cloned()).collect();
        let declared = catalog.tags().names().map(str::to_owned);
        let users = people.names();
        Self {
            tags: declared.chain(in_use.iter().cloned()).collect(),
            in_use,
            roles: catalog.roles().map(|role| role.name.clone()).collect(),
            operations: catalog.names().map(str::to_owned).collect(),
            groups: people.groups().map(str::to_owned).collect(),
            users: users.map(str::to_owned).collect(),
        }
    }

    /// The tags that an operation bears, and the workspace's own.
    pub fn tags_in_use(&self) -> BTreeSet<&str> {
        self.in_use.iter().map(String::as_str).collect()
    }

    /// The names in a policy that stand for nothing.
    pub fn strays(&self, entry: &PolicyEntry) -> Vec<UnknownName> {
        let names = PolicyNames::of(&entry.tree);
        let unless = PolicyNames::of_unless(&entry.tree);
        // Why: while nobody is listed, no name can be told from a misspelt one, and what permits
        // too little is noticed by who wants it.
        let nobody = self.users.is_empty() && self.groups.is_empty();
        let refuses = |unless: &BTreeSet<String>, name: &String| {
            !nobody || entry.forbids || unless.contains(name)
        };
        let mut strays = Vec::new();
        for name in names.tags.difference(&self.tags) {
            strays.push(stray(entry, &TAG, name, &self.tags, true));
        }
        for name in names.roles.difference(&self.roles) {
            if !name.is_empty() {
                strays.push(stray(entry, &ROLE, name, &self.roles, true));
            }
        }
        for name in names.groups.difference(&self.groups) {
            let refuses = refuses(&unless.groups, name);
            strays.push(stray(entry, &GROUP, name, &self.groups, refuses));
        }
        for name in names.users.difference(&self.users) {
            let refuses = refuses(&unless.users, name);
            strays.push(stray(entry, &USER, name, &self.users, refuses));
        }
        let approvers = entry.ask.iter().flat_map(|ask| &ask.approvers);
        for name in approvers.filter(|name| !self.groups.contains(*name)) {
            strays.push(stray(entry, &GROUP, name, &self.groups, !nobody));
        }
        for name in &names.operations {
            if !name.is_empty() && !self.operations.contains(name) {
                strays.push(stray(entry, &TOOL, name, &self.operations, true));
            }
        }
        for pattern in &names.operations_like {
            if !self.operations.iter().any(|name| fits(pattern, name)) {
                let written: String = pattern.iter().map(|c| c.unwrap_or('*')).collect();
                strays.push(stray(entry, &TOOLS, &written, &self.operations, true));
            }
        }
        strays
    }
}

/// What a name that stands for nothing is called, and what to do where none is near.
struct NameKind {
    noun: &'static str,
    hint: &'static str,
}

const TAG: NameKind = NameKind {
    noun: "the tag that is not declared,",
    hint: "`[tags]` of provost.toml declares a tag of your own: `TAG = \"what it means\"`",
};
const ROLE: NameKind = NameKind {
    noun: "the role that is not declared,",
    hint: "roles stand in provost.toml",
};
const GROUP: NameKind = NameKind {
    noun: "the group that nobody is in,",
    hint: "groups and roles stand in policies/entities.json: with each person who is in them, \
           or in the list `groups` while nobody is",
};
const TOOL: NameKind = NameKind {
    noun: "the tool that there is not,",
    hint: "tools stand in provost.toml",
};
const TOOLS: NameKind = NameKind {
    noun: "tools that there are not,",
    hint: "tools stand in provost.toml",
};
const USER: NameKind = NameKind {
    noun: "somebody who is not listed,",
    hint: "people stand in policies/entities.json",
};

fn stray(
    entry: &PolicyEntry,
    kind: &NameKind,
    name: &str,
    known: &BTreeSet<String>,
    refuses: bool,
) -> UnknownName {
    let near = nearest(name, known.iter().map(String::as_str));
    UnknownName {
        written: format!("\"{name}\""),
        message: format!("policy `{}` names {} `{name}`", entry.id, kind.noun),
        hint: near.map_or_else(
            || kind.hint.to_owned(),
            |near| format!("did you mean `{near}`?"),
        ),
        refuses,
    }
}
