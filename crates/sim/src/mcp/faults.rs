//! What each tool of the scripted server does when it is called.

use std::io::{self, BufRead, Write};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Answer, Server, text};

impl<R: BufRead, W: Write> Server<R, W> {
    pub(super) fn call(&mut self, name: &str, params: &Value) -> io::Result<Answer> {
        let args = &params["arguments"];
        let line = args["line"].as_str().unwrap_or_default();
        let result = match name {
            "add" => structured(args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0)),
            "count" => structured(i64::try_from(self.effects()?.len()).unwrap_or(i64::MAX)),
            "echo" => text(args["text"].as_str().unwrap_or_default()),
            "append" => {
                self.act(line)?;
                text("it took place")
            }
            "append_keyed" => self.keyed(line, params)?,
            "leak" => text(std::env::var(line).unwrap_or_else(|_| "there is none".to_owned())),
            "huge" => text("x".repeat(line.parse().unwrap_or(0))),
            "mixed" => json!({ "content": [
                { "type": "text", "text": line },
                { "type": "image", "data": "AAAA", "mimeType": "image/png" },
                { "type": "resource", "resource": { "uri": "file:///a", "text": "inside" } },
            ] }),
            "lie" => json!({ "content": [], "structuredContent": { "sum": "many" } }),
            "bare" => text("5"),
            "change" => {
                self.act("changed")?;
                text("it is another now")
            }
            _ => return self.faulty(name, line, params),
        };
        Ok(Answer::Result(self.complete(result)))
    }

    fn faulty(&mut self, name: &str, line: &str, params: &Value) -> io::Result<Answer> {
        let result = match name {
            "die" | "die_first" => {
                if name == "die" {
                    self.act(line)?;
                }
                eprintln!("out of memory");
                std::process::exit(3);
            }
            "hang" => {
                self.act(line)?;
                return Ok(Answer::Never);
            }
            "hang_first" => return Ok(Answer::Never),
            "fail" | "fail_after" => {
                if name == "fail_after" {
                    self.act(line)?;
                }
                let mut result = text(line);
                result["isError"] = json!(true);
                result
            }
            "refuse" => {
                let code = line.parse().unwrap_or(-32603);
                return Ok(Answer::Error(code, format!("refused with {code}")));
            }
            "garbage" => {
                writeln!(self.to, "this is no message")?;
                self.to.flush()?;
                return Ok(Answer::Never);
            }
            "two_things" => {
                self.act(line)?;
                return Ok(Answer::Text(two_things(line, self.script.stateless)));
            }
            "mistake" => return Ok(Answer::Result(json!({ "nothing": "of the kind" }))),
            "ask" => self.asked(line)?,
            "want" => wanted(line, params),
            "sample" => {
                let answer = self.ask(
                    "sampling/createMessage",
                    &json!({ "messages": [], "maxTokens": 10 }),
                )?;
                text(format!("the client says {}", answer["error"]["code"]))
            }
            "slow" => self.slow(line, params)?,
            other => return Ok(Answer::Error(-32602, format!("unknown tool: {other}"))),
        };
        Ok(Answer::Result(self.complete(result)))
    }

    /// Once a key, whether it came as an argument or in the metadata.
    fn keyed(&mut self, line: &str, params: &Value) -> io::Result<Value> {
        let of_meta = params["_meta"]["example.org/key"].as_str();
        let key = params["arguments"]["key"]
            .as_str()
            .or(of_meta)
            .unwrap_or("none");
        let known = format!("{line} under {key}");
        if !self.effects()?.contains(&known) {
            self.act(&known)?;
        }
        Ok(text(key))
    }

    fn asked(&mut self, line: &str) -> io::Result<Value> {
        let answer = self.ask("elicitation/create", &form(line))?;
        let answer = &answer["result"];
        let mut result = text(format!(
            "the answer was {} {}",
            answer["action"], answer["content"]
        ));
        result["isError"] = json!(answer["action"] != "accept");
        Ok(result)
    }

    fn slow(&mut self, line: &str, params: &Value) -> io::Result<Value> {
        let token = params["_meta"]["progressToken"].clone();
        let steps: u64 = 4;
        for step in 1..=steps {
            thread::sleep(Duration::from_millis(
                line.parse::<u64>().unwrap_or(0) / steps,
            ));
            self.write(&json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": { "progressToken": token, "progress": step, "total": steps },
            }))?;
        }
        Ok(text("done"))
    }

    /// A result as the version of the protocol wants it.
    fn complete(&self, mut result: Value) -> Value {
        if self.script.stateless && result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        result
    }
}

/// A result in which one name stands twice; `line` says where.
fn two_things(line: &str, stateless: bool) -> String {
    let twice = match line {
        "error" => r#""isError":true,"isError":false"#,
        "deep" => r#""structuredContent":{"rows":[{"sum":1,"sum":2}]}"#,
        _ => r#""structuredContent":{"sum":1,"sum":2}"#,
    };
    let complete = if stateless {
        r#","resultType":"complete""#
    } else {
        ""
    };
    format!(r#"{{"content":[],{twice}{complete}}}"#)
}

fn structured(sum: i64) -> Value {
    json!({
        "content": [{ "type": "text", "text": format!("{{\"sum\":{sum}}}") }],
        "structuredContent": { "sum": sum },
    })
}

/// A form with one field that must be filled.
fn form(line: &str) -> Value {
    json!({ "mode": "form", "message": line, "requestedSchema": {
        "type": "object", "properties": { "sure": { "type": "boolean" } }, "required": ["sure"],
    } })
}

/// What a server without sessions says that wants to be told something first.
fn wanted(line: &str, params: &Value) -> Value {
    match params["inputResponses"].get("one") {
        Some(answer) if params["requestState"] == "later" => text(answer["content"].to_string()),
        _ => json!({
            "resultType": "input_required", "requestState": "later",
            "inputRequests": { "one": { "method": "elicitation/create", "params": form(line) } },
        }),
    }
}
