//! Any text as a plan: read, printed and read again.
//!
//! Owns what holds of reading. INVARIANT: a text that is read has one digest, however it is
//! printed; one that is not has an error inside it.

use provost_plan::diagnostic::has_errors;
use provost_plan::digest::canonical;
use provost_plan::plan::Plan;
use provost_plan::plan::read::{plan_from_value, read_plan};
use provost_plan::source::{Source, Span};

use super::{hold, reached, stands_inside};

/// Reads the bytes, if they are text.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let source = Source::new("plan.yaml", text);
    match read_plan(&source) {
        Ok(plan) => read(&source, &plan),
        Err(found) => {
            assert!(has_errors(&found), "refused without an error");
            hold(&source, &found);
        }
    }
}

fn read(source: &Source, plan: &Plan) {
    let digest = plan.digest();
    for text in [
        canonical(&plan.value),
        serde_json::to_string_pretty(&plan.value).unwrap_or_default(),
    ] {
        match read_plan(&Source::new("again.json", text.as_str())) {
            Ok(again) => {
                assert_eq!(again.digest(), digest, "printed as {text}");
                assert_eq!(again.value, plan.value);
            }
            Err(found) => panicked(&text, &format!("{found:?}")),
        }
    }
    let again = plan_from_value(&plan.value, "journal").map(|plan| plan.digest());
    assert_eq!(again.ok(), Some(digest), "read from its value");
    // Why placed: what a name of `let` is written out as lies behind the text.
    let stands_inside = |source: &Source, span: Span, what: &str| {
        stands_inside(source, plan.names.place(span), what);
    };
    for step in &plan.steps {
        stands_inside(source, step.span, "a step");
        stands_inside(source, step.id.span, "an id");
        for (field, template) in step.templates() {
            reached(format!("{field:?}"));
            stands_inside(source, template.span(), "a template");
            for expression in template.expressions() {
                stands_inside(source, expression.span(), "an expression");
            }
            for reference in template.references() {
                stands_inside(source, reference.span, "a reference");
            }
        }
    }
}

fn panicked(text: &str, found: &str) {
    assert!(
        text.is_empty(),
        "a plan that was read is not read as {text}: {found}"
    );
}
