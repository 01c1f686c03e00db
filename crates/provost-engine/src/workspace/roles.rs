//! `[roles.NAME]`: the narrower allow lists that steps take on with `as`.
//!
//! Owns their reading. Judges no call: that is the catalog's. INVARIANT: every name in a list is
//! that of an operation the catalog holds, or of a server that has one or is left out of it.

use provost_plan::catalog::{Catalog, Role};
use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::{Fields, Node};
use provost_plan::source::Spanned;
use provost_tools::Listings;

use super::config::bad;

/// Longest name of a role, in characters.
const NAME_CHARS_MAX: usize = 40;

/// What the names in a role are looked up in.
pub(super) struct RoleScope<'a> {
    catalog: &'a Catalog,
    /// Whether a tool of this name is left out of the catalog because its entry has errors.
    is_left_out: &'a dyn Fn(&str) -> bool,
    listings: &'a Listings,
}

impl<'a> RoleScope<'a> {
    pub(super) fn new(
        catalog: &'a Catalog,
        is_left_out: &'a dyn Fn(&str) -> bool,
        listings: &'a Listings,
    ) -> Self {
        Self {
            catalog,
            is_left_out,
            listings,
        }
    }
}

/// The roles over a catalog.
pub(super) fn read(
    nodes: &[(Spanned<String>, Node)],
    scope: &RoleScope<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Role> {
    let read = nodes
        .iter()
        .filter_map(|(name, node)| role(name, node, scope, diagnostics));
    read.collect()
}

fn role(
    name: &Spanned<String>,
    node: &Node,
    scope: &RoleScope<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Role> {
    let RoleScope {
        catalog,
        is_left_out,
        listings,
    } = scope;
    if !is_name(&name.value) {
        let message = format!(
            "`{}` cannot be a role: a name has up to {NAME_CHARS_MAX} small letters, digits, `_` \
             and `-`, a letter first",
            name.value
        );
        bad(diagnostics, name.span, message);
    }
    let owner = format!("`[roles.{}]`", name.value);
    let mut fields = Fields::new(owner.clone(), node, diagnostics)?;
    let description = fields.text("description").map(|text| text.value);
    fields.required("tools");
    fields.list("tools");
    let tools = fields.texts("tools");
    // Why not: what a server has to offer that was never pinned is not known yet.
    if !listings.is_lenient() {
        let server = |tool: &str| tool.split('.').next().unwrap_or_default().to_owned();
        let unknown = tools
            .iter()
            .filter(|tool| !catalog.has_any(&tool.value) && !is_left_out(&server(&tool.value)));
        let patterns: Vec<String> = catalog.patterns().collect();
        for tool in unknown {
            let message = format!("{owner} names `{}`, which is no tool", tool.value);
            let known = patterns.iter().map(String::as_str);
            let code = provost_plan::codes::Code::BadWorkspace;
            let finding = Diagnostic::new(code, tool.span, message);
            let finding = finding.did_you_mean(&tool.value, known);
            let finding = finding.fix_only_if(|_| false);
            fields.diagnostics().push(if finding.hint.is_some() {
                finding
            } else {
                finding.hint("a role lists operations, `git.log`, or all of a server, `git.*`")
            });
        }
    }
    fields.finish();
    Some(Role {
        name: name.value.clone(),
        description: description.unwrap_or_default(),
        tools: tools.into_iter().map(|tool| tool.value).collect(),
    })
}

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_lowercase();
    let other = |c: char| letter(c) || c.is_ascii_digit() || c == '_' || c == '-';
    name.starts_with(letter) && name.chars().all(other) && name.len() <= NAME_CHARS_MAX
}
