//! The people and groups that cases name.
//!
//! Owns which of them have to be listed, and how a case means somebody who is not. INVARIANT: a
//! name that is neither listed nor said to be a stranger is a finding: a case about it would hold
//! for ever, whatever the policies say.

use std::collections::BTreeSet;

use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::node::{Fields, Kind, Node};
use crate::policy::People;
use crate::source::Spanned;

/// Whom cases may name.
pub(super) struct CaseNames<'p> {
    /// None while nobody is listed: then there is nothing to hold a name against.
    people: Option<&'p People>,
    strangers: BTreeSet<&'p str>,
}

impl<'p> CaseNames<'p> {
    /// Of a file that says who is meant not to be listed.
    pub(super) fn new(
        people: &'p People,
        strangers: &'p [Spanned<String>],
        found: &mut Vec<Diagnostic>,
    ) -> Self {
        for stranger in strangers {
            if people.is_listed(&stranger.value) {
                let message = format!("`{}` is listed, so is no stranger", stranger.value);
                found.push(Diagnostic::new(Code::WrongShape, stranger.span, message));
            }
        }
        Self {
            people: people.names().next().map(|_| people),
            strangers: strangers.iter().map(|name| name.value.as_str()).collect(),
        }
    }

    /// Finds the names of a case that nobody has.
    pub(super) fn check(&self, case: &Node, found: &mut Vec<Diagnostic>) {
        let Some(people) = self.people else {
            return;
        };
        for field in ["by", "requester", "stopped_by", "of"] {
            let text = case.get(field);
            let is_group = |name: &str| field == "of" && people.groups().any(|group| group == name);
            if let Some(Node {
                kind: Kind::Text(name),
                span,
            }) = text
                && !people.is_listed(name)
                && !self.strangers.contains(name.as_str())
                && !is_group(name)
            {
                let message = format!("`{field}` names `{name}`, who is not listed");
                let names = people.names();
                found.push(
                    Diagnostic::new(Code::BadPolicy, *span, message)
                        .did_you_mean(name, names)
                        .note("write a name that is meant not to be listed under `strangers`"),
                );
            }
        }
        let Some(Kind::List(groups)) = case.get("approvers").map(|groups| &groups.kind) else {
            return;
        };
        for group in groups {
            if let Kind::Text(name) = &group.kind
                && people.groups().all(|known| known != name)
            {
                let message = format!("`approvers` names `{name}`, a group that nobody is in");
                found.push(
                    Diagnostic::new(Code::BadPolicy, group.span, message)
                        .did_you_mean(name, people.groups()),
                );
            }
        }
    }
}

/// Whether who looks at the run asked for it.
pub(super) fn own(fields: &mut Fields<'_, '_>) -> bool {
    let own = fields.boolean("own").unwrap_or(false);
    if let (true, Some(requester)) = (own, fields.text("requester")) {
        let message = "`own: true` says who asked for the run, and `requester` says so again";
        let found = Diagnostic::new(Code::WrongShape, requester.span, message)
            .hint("leave out one of them");
        fields.diagnostics().push(found);
    }
    own
}
