//! `[tools.NAME]` one by one: what is wrong with an entry concerns its tool.
//!
//! Owns which tools can be used and what is wrong with the others. Judges nothing that policy
//! does. INVARIANT: a tool that can be used has no error in its entry, and neither has any read
//! that its operations name.

use std::sync::Arc;

use provost_plan::catalog::{Catalog, Operation};
use provost_plan::check::entry;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::Node;
use provost_plan::source::{Source, Span, Spanned};
use provost_tools::{ConfigScope, Tool, ToolConfig};

use super::config::{Damage, bad};
use super::error::{DamagedTool, Findings};

/// A tool with the warnings about its entry.
type Usable = (ToolConfig, Vec<Diagnostic>);
/// The name of a tool that cannot be used, and why.
pub(super) type Damaged = (String, Vec<Diagnostic>);

/// The tools that can be used, and those that cannot; `None` if one of the program's own is wrong.
pub(super) fn usable(
    nodes: &[(Spanned<String>, Node)],
    own: &[Arc<dyn Tool>],
    scope: ConfigScope<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(Vec<ToolConfig>, Vec<Damaged>)> {
    let (mut usable, mut damaged) = read(nodes, own, scope, diagnostics)?;
    // Why not: a read whose schemas are not known yet cannot be judged.
    if !scope.listings.is_lenient() {
        hold_reads(&mut usable, &mut damaged);
    }
    let (tools, notes): (Vec<_>, Vec<_>) = usable.into_iter().unzip();
    diagnostics.extend(notes.into_iter().flatten());
    Some((tools, damaged))
}

/// The tools of the file `source` that are left out; `None` if there are any and damage is to be
/// refused.
pub(super) fn left_out(
    damaged: Vec<Damaged>,
    damage: Damage,
    source: &Source,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<DamagedTool>> {
    if damage == Damage::Refuse && !damaged.is_empty() {
        diagnostics.extend(damaged.into_iter().flat_map(|(_, found)| found));
        return None;
    }
    let left_out = damaged.into_iter().map(|(tool, diagnostics)| DamagedTool {
        tool,
        findings: Findings {
            source: source.clone(),
            diagnostics,
        },
    });
    Some(left_out.collect())
}

/// Reads every entry, and the tools of the program's own; `None` if one of these is wrong.
fn read(
    nodes: &[(Spanned<String>, Node)],
    own: &[Arc<dyn Tool>],
    scope: ConfigScope<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(Vec<Usable>, Vec<Damaged>)> {
    let (mut usable, mut damaged) = (Vec::<Usable>::new(), Vec::new());
    for (name, node) in nodes {
        let mut found = Vec::new();
        match ToolConfig::read(&name.value, node, scope, &mut found) {
            Some(tool) => usable.push((tool, found)),
            None => damaged.push((name.value.clone(), found)),
        }
    }
    for tool in own {
        let tool = ToolConfig::custom(Arc::clone(tool), scope.tags, diagnostics)?;
        let names = usable.iter().map(|(other, _)| other.name());
        let mut names = names.chain(damaged.iter().map(|(name, _)| name.as_str()));
        if names.any(|name| name == tool.name()) {
            let message = format!("there are two tools called `{}`", tool.name());
            bad(diagnostics, Span::default(), message);
            return None;
        }
        usable.push((tool, Vec::new()));
    }
    Some((usable, damaged))
}

/// A reconcile read that cannot be believed is no way out of a doubt, and a preview that cannot
/// be read shows nobody anything: the tool that names one is damaged, and whatever names a read
/// of that tool is as well.
fn hold_reads(usable: &mut Vec<Usable>, damaged: &mut Vec<Damaged>) {
    loop {
        let operations = usable.iter().flat_map(|(tool, _)| tool.operations());
        let catalog = Catalog::new(operations);
        let before = usable.len();
        let (sound, wrong) = std::mem::take(usable)
            .into_iter()
            .map(|(tool, found)| {
                let wrong = wrong_reads(&tool, &catalog);
                (tool, found, wrong)
            })
            .partition::<Vec<_>, _>(|(_, _, wrong)| wrong.is_empty());
        *usable = sound
            .into_iter()
            .map(|(tool, found, _)| (tool, found))
            .collect();
        let name = |tool: &ToolConfig| tool.name().to_owned();
        damaged.extend(wrong.iter().map(|(tool, found, wrong)| {
            (name(tool), [found.as_slice(), wrong.as_slice()].concat())
        }));
        if usable.len() == before {
            return;
        }
    }
}

/// What is wrong with the reads that the operations of a tool name.
fn wrong_reads(tool: &ToolConfig, catalog: &Catalog) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for operation in tool.operations() {
        found.extend(wrong_reads_of(&operation, tool.span(), catalog));
    }
    found
}

fn wrong_reads_of(operation: &Operation, span: Span, catalog: &Catalog) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut wrong = |error: String| {
        bad(&mut found, span, format!("`{}`: {error}", operation.name));
    };
    if let Some(Err(error)) = operation.reconcile.as_ref().map(|r| r.hold(catalog)) {
        wrong(error.to_string());
    }
    let preview = operation.preview.as_ref();
    if let Some(Err(error)) = preview.map(|preview| preview.hold(operation, catalog)) {
        wrong(error.to_string());
    }
    // Why only then: what is no read of the catalog has no schema to hold an expression against.
    if found.is_empty() {
        let faults = entry::faults(operation, catalog).into_iter();
        found.extend(faults.map(|fault| Diagnostic {
            message: format!("`{}`: {}", operation.name, fault.message),
            span,
            ..fault
        }));
    }
    found
}
