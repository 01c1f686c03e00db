//! Messages of a server, read strictly before the library of the protocol reads them.
//!
//! Owns what takes the place of an answer that a lenient reader would have to guess at: a name that
//! stands twice, a number that would become zero. Leaves what is no JSON at all to the library.
//! INVARIANT: no answer is handed on that says two things, and the call that waits for it ends.

use provost_plan::json;
use provost_run::outcome::{Class, Landing};
use rmcp::model::{ErrorCode, ErrorData};
use serde::Deserialize;
use serde_json::Value;

use crate::fault::Fault;

/// The code of the errors that are put in the place of answers. Why a server may send it too: such
/// an answer says no more than one that cannot be used.
const REFUSED: ErrorCode = ErrorCode(-33_001);

/// The parts of an answer that say whether its call was done. Each may stand once.
#[derive(Deserialize)]
struct Answer {
    result: AnswerResult,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerResult {
    is_error: Option<bool>,
    result_type: Option<String>,
}

/// What is handed on in place of a message, if it cannot be handed on as it is; nothing in place
/// of what answers no request.
pub(super) fn replacement(message: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(message).ok()?.trim();
    if text.is_empty() {
        return None;
    }
    let why = json::read(text).err()?;
    // Why: what no reader takes is ignored by the library, and reaches nobody.
    let lenient: Value = serde_json::from_str(text).ok()?;
    let answers = lenient.get("method").is_none();
    let Some(id) = lenient.get("id").filter(|_| answers) else {
        return Some(String::new());
    };
    let landing = match serde_json::from_str(text) {
        Ok(Answer { result }) if result.is_done() => Landing::Happened,
        _ => Landing::Unknown,
    };
    let why = format!("what the server answered can be read in more than one way: {why}");
    Some(refusal(id, &why, landing))
}

/// An answer that ends the call of this id as one whose answer cannot be used.
pub(super) fn refusal(id: &Value, why: &str, landing: Landing) -> String {
    let happened = landing == Landing::Happened;
    let error = ErrorData::new(REFUSED, why.to_owned(), Some(Value::Bool(happened)));
    serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

/// What an error says that was put in the place of an answer.
pub(super) fn fault(error: &ErrorData) -> Option<Fault> {
    if error.code != REFUSED {
        return None;
    }
    let landing = match error.data {
        Some(Value::Bool(true)) => Landing::Happened,
        _ => Landing::Unknown,
    };
    Some(Fault::new(
        Class::OutputInvalid,
        landing,
        error.message.to_string(),
    ))
}

impl AnswerResult {
    /// Whether the server says that the call was done.
    fn is_done(&self) -> bool {
        let is_complete = |kind: &String| kind == "complete";
        self.is_error != Some(true) && self.result_type.as_ref().is_none_or(is_complete)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Whether the call was done, and what is wrong with the answer.
    fn refused(message: &str) -> Option<(bool, String)> {
        let replacement = replacement(message.as_bytes())?;
        let replacement: Value = serde_json::from_str(&replacement).ok()?;
        assert_eq!(replacement.get("id"), Some(&serde_json::json!(7)));
        let error = serde_json::from_value(replacement.get("error")?.clone()).unwrap();
        let fault = fault(&error).unwrap();
        Some((fault.landing == Landing::Happened, fault.message))
    }

    #[test]
    fn an_answer_that_says_two_things_is_refused_and_no_other() {
        let result = |rest: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{{rest}}}}}"#);
        for (rest, happened) in [
            (r#""structuredContent":{"sum":1,"sum":2}"#, true),
            (
                r#""structuredContent":{"a":[{"b":1,"b":1}]},"isError":false"#,
                true,
            ),
            (
                r#""resultType":"complete","structuredContent":{"s":1e-400}"#,
                true,
            ),
            (
                r#""content":[],"structuredContent":{},"structuredContent":{}"#,
                true,
            ),
            (
                r#""isError":true,"structuredContent":{"sum":1,"sum":2}"#,
                false,
            ),
            (r#""isError":true,"isError":false"#, false),
            (r#""resultType":"input_required","a":1,"a":2"#, false),
        ] {
            let (done, why) = refused(&result(rest)).unwrap();
            assert_eq!(done, happened, "{rest}");
            let says = why.contains("stands twice") || why.contains("too close to zero");
            assert!(says, "{rest}: {why}");
        }
        let twice = r#"{"id":7,"result":{},"result":{"isError":true}}"#;
        assert!(!refused(twice).unwrap().0, "which of the two?");
        let error = r#"{"id":7,"error":{"code":1,"message":"a","message":"b"}}"#;
        assert!(!refused(error).unwrap().0);
        for message in [
            result(r#""structuredContent":{"sum":1,"of":{"sum":2}}"#),
            result(r#""content":[{"type":"text","text":"{\"a\":1,\"a\":2}"}]"#),
            "this is no message".to_owned(),
            String::new(),
        ] {
            assert_eq!(replacement(message.as_bytes()), None, "{message}");
        }
    }

    #[test]
    fn what_answers_nothing_and_says_two_things_is_left_out() {
        for message in [
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"a":1,"a":2}}"#,
            r#"{"jsonrpc":"2.0","id":"s1","method":"elicitation/create","params":{"a":1,"a":2}}"#,
        ] {
            assert_eq!(replacement(message.as_bytes()).as_deref(), Some(""));
        }
    }
}
