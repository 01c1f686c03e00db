//! `[tags]`: the workspace's own words for what tools touch, beside the known ones.
//!
//! Owns their reading, and the word on those that no policy looks at. INVARIANT: a declared tag
//! that no policy looks at is named whenever policies are loaded.

use provost_plan::catalog::Tags;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::{Kind, Node};
use provost_plan::policy::Policy;
use provost_plan::source::{Source, Span, Spanned};
use provost_tools::ToolConfig;

use super::config::bad;

/// `[tags]` with `books = "the books of the company"`.
pub(super) fn read(nodes: &[(Spanned<String>, Node)], diagnostics: &mut Vec<Diagnostic>) -> Tags {
    for (name, node) in nodes {
        if !Tags::is_name(&name.value) {
            let message = format!("`{}` cannot be a tag", name.value);
            let finding = Diagnostic::new(Code::BadName, name.span, message);
            diagnostics.push(finding.hint("a tag has lower-case letters, digits, `_` and `-`"));
        }
        if !matches!(&node.kind, Kind::Text(text) if !text.trim().is_empty()) {
            let message = format!("the tag `{}` needs a text: what it means", name.value);
            bad(diagnostics, node.span, message);
        }
    }
    Tags::declared(
        nodes
            .iter()
            .map(|(name, _)| (name.value.clone(), name.span)),
    )
}

/// The tags that no policy looks at, where they are declared or first borne.
pub(super) fn unseen(
    source: &Source,
    tags: &Tags,
    tools: &[ToolConfig],
    policy: &Policy,
) -> Vec<(Source, Diagnostic)> {
    let warn = |tag: &str| {
        let declared = tags.own().find(|(own, _)| *own == tag);
        let bears = |tool: &ToolConfig| tool.operations().iter().any(|one| one.tags.contains(tag));
        let borne = || tools.iter().find(|tool| bears(tool)).map(ToolConfig::span);
        let span = declared.map(|(_, span)| span).or_else(borne);
        let message = format!("no policy looks at the tag `{tag}`");
        let finding = Diagnostic::new(Code::UnseenTag, span.unwrap_or(Span::default()), message)
            .hint("write its rule into policies/, or remove the tag");
        (source.clone(), finding)
    };
    policy.unseen_tags().into_iter().map(warn).collect()
}
