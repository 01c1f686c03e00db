//! A question to a person, with what an answer may be.

use provost_engine::run::card::{Question, QuestionPurpose};
pub use provost_engine::run::read::question::{expected, read};
use provost_plan::digest::Digest;

use super::page::{Page, TextStyle};
use super::words::moment;

/// The question.
pub fn page(digest: &Digest, question: &Question) -> Page {
    let mut page = Page::new();
    page.put(TextStyle::Warn, "question: ").line(&question.text);
    let about = match &question.purpose {
        QuestionPurpose::Step { step } => format!("step `{step}`"),
        QuestionPurpose::Planner { .. } => "the planner".to_owned(),
        QuestionPurpose::Escalation { step } => format!("step `{step}`, which failed"),
        QuestionPurpose::Review { .. } => {
            "the run, because its planner gave no usable plan".to_owned()
        }
    };
    page.field("asked by", &about);
    if let Some(of) = &question.of {
        page.field("of", of);
    }
    page.field("answer", &expected(&question.answer));
    if let Some(expires) = &question.expires {
        let then = match &expires.default {
            Some(default) => format!("it is {default}"),
            None => "the step fails".to_owned(),
        };
        page.field(
            "expires",
            &format!("at {}, then {then}", moment(expires.at)),
        );
    }
    page.field("run", &question.run);
    page.field("digest", &digest.to_string());
    page
}
