//! Any text as a template: read, and evaluated twice in one scope.
//!
//! Owns what holds of expressions. INVARIANT: an evaluation ends, in the same value or the same
//! error each time, and that value is no larger than the work it may take.

use provost_plan::expr::{Root, Scope, Template};
use provost_plan::limits::EXPRESSION_WORK_MAX;
use provost_plan::source::{Source, Span};
use serde_json::{Value, json};

use super::{hold, reached, stands_inside};

/// Reads and evaluates the bytes, if they are text.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let source = Source::new("template", text);
    let template = match Template::parse(text, Span::new(0, text.len()), text) {
        Ok(template) => template,
        Err(found) => return hold(&source, &[*found]),
    };
    assert_eq!(template.text(), text);
    for expression in template.expressions() {
        stands_inside(&source, expression.span(), "an expression");
    }
    for reference in template.references() {
        stands_inside(&source, reference.span, "a reference");
        if !matches!(reference.root, Root::Unknown(_)) {
            reached(reference.root.name());
        }
    }
    if let Some(constant) = template.constant() {
        assert_eq!(template.eval(&Scope::new()), Ok(constant));
    }
    evaluated(&template);
}

fn evaluated(template: &Template) {
    let step = json!({
        "status": "succeeded",
        "output": { "total": 3, "rows": [{ "id": "a", "n": 1.5 }, { "id": "é", "n": null }],
                    "at": "2026-11-21T06:00:00Z" },
        "error": null,
    });
    let params = json!({ "service": "Payment API", "hours": 2 });
    let run = json!({ "id": "abc", "started_at": "2026-11-21T06:00:00Z" });
    let number = json!(7);
    let scope = Scope::new()
        .with_step("a", &step)
        .with_step("count", &step)
        .with("params", &params)
        .with("run", &run)
        .with("item", &step)
        .with("index", &number)
        .with("output", &step);
    let first = template.eval(&scope);
    assert_eq!(first, template.eval(&scope), "not the same twice");
    match first {
        Ok(value) => {
            reached(kind(&value));
            let size = serde_json::to_string(&value).unwrap_or_default().len();
            let most = usize::try_from(EXPRESSION_WORK_MAX).unwrap_or(usize::MAX);
            assert!(size <= most.saturating_mul(64), "{size} bytes");
            if let Ok(truth) = template.eval_bool(&scope) {
                assert_eq!(value, Value::Bool(truth));
            }
        }
        Err(error) => reached(error.reason.split(['`', ':']).next().unwrap_or_default()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "is null",
        Value::Bool(_) => "is a boolean",
        Value::Number(_) => "is a number",
        Value::String(_) => "is a text",
        Value::Array(_) => "is a list",
        Value::Object(_) => "is a map",
    }
}
