//! `[audit]`: who signs heads of the journal, and where they are kept.
//!
//! Owns reading the table. Never opens a key. INVARIANT: the file of heads lies outside the
//! store, where it would be put back together with the journal that it is to bear witness of.

use std::path::{Path, PathBuf};

use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::{Fields, Node, parse_toml};
use provost_wire::SecretName;

use super::config::{bad, keys};
use super::error::Collector;
use super::{CONFIG_FILE, STORE_DIR, WorkspaceError, files};
use crate::audit::AuditSettings;

pub(super) fn read(
    root: &Path,
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<AuditSettings> {
    let mut fields = Fields::new("`[audit]`", node, diagnostics)?;
    let key = fields.text("key");
    let passphrase = fields.text("passphrase");
    let heads = fields.required_text("heads");
    let public = fields.texts("public");
    let span = fields.span();
    fields.finish();
    if key.is_some() != passphrase.is_some() {
        let message = "`key` and `passphrase` go together: a key is sealed under a passphrase";
        bad(diagnostics, span, message);
    }
    if key.is_none() && public.is_empty() {
        let message = "`[audit]` names no key: `key` signs heads, `public` only checks them";
        bad(diagnostics, span, message);
    }
    let passphrase = passphrase.and_then(|text| match SecretName::parse(&text.value) {
        Ok(name) => Some(name),
        Err(error) => {
            bad(diagnostics, text.span, error.to_string());
            None
        }
    });
    let known = keys(&public, "public", diagnostics);
    let heads = heads?;
    if root.join(&heads.value).starts_with(root.join(STORE_DIR)) {
        diagnostics.push(
            Diagnostic::new(
                Code::BadWorkspace,
                heads.span,
                "`heads` is inside the store that it has to prove",
            )
            .hint("name a file elsewhere, best on another disk or machine"),
        );
    }
    Some(AuditSettings {
        key: key.map(|key| PathBuf::from(key.value)),
        passphrase,
        heads: heads.value.into(),
        public: known,
    })
}

/// Reads `[audit]` of the workspace at `root` and looks at nothing else: an auditor needs neither
/// its tools nor its policies to be in order.
///
/// # Errors
/// [`WorkspaceError`] if provost.toml is not there or cannot be read, or `[audit]` is wrong.
pub fn audit_settings(root: &Path) -> Result<Option<AuditSettings>, WorkspaceError> {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    if !root.join(CONFIG_FILE).is_file() {
        return Err(WorkspaceError::NoConfig { root });
    }
    let mut found = Collector::new();
    let mut settings = None;
    if let Some(source) = files::required(&root, CONFIG_FILE, &mut found) {
        let mut diagnostics = Vec::new();
        match parse_toml(&source.text) {
            Ok(node) => {
                let fields = Fields::new("provost.toml", &node, &mut diagnostics);
                let audit = fields.and_then(|mut fields| fields.node("audit"));
                settings = audit.and_then(|node| read(&root, node, &mut diagnostics));
            }
            Err(diagnostic) => diagnostics.push(*diagnostic),
        }
        found.add(&source, diagnostics);
    }
    if found.is_empty() {
        Ok(settings)
    } else {
        Err(found.refused())
    }
}
