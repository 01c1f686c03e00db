//! The default of a question against the schema of its answer.
//!
//! INVARIANT: what a question without an answer comes to is what a person might have answered.

use serde_json::Value;

use super::Types;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::schema::Schema;
use crate::source::Spanned;

impl Types {
    pub(super) fn unanswered(&mut self, answer: &Schema, default: Option<&Spanned<Value>>) {
        let Some(default) = default else {
            return;
        };
        if let Some(violation) = answer.violations(&default.value).into_iter().next() {
            let at = violation.pointer.trim_start_matches('/').replace('/', ".");
            let message = match at.as_str() {
                "" => format!("the default does not fit `answer`: {}", violation.message),
                at => format!(
                    "the default does not fit `answer` at `{at}`: {}",
                    violation.message
                ),
            };
            let finding = Diagnostic::new(Code::DefaultType, default.span, message);
            self.report(finding.hint("write an answer that a person could give"));
        }
    }
}
