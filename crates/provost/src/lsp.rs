//! The language server: findings, hover, completion and places of plans and playbooks, on stdio.
//!
//! Owns the open texts and the protocol. What is wrong with a text is what the check says of it,
//! and nothing else. Calls no tool and writes no file. INVARIANT: the findings that were sent last
//! are those of the text that was received last.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _, Write};
use std::path::Path;

use provost_engine::workspace::Workspace;
use provost_plan::diagnostic::Code;
use provost_plan::source::Source;
use serde_json::{Value, json};

use crate::cli::check::{findings_json, judge};
use crate::document::Document;
use crate::failure::{Exit, Failure};
use crate::workspace_path::WorkspacePath;

mod place;
mod rename;
mod words;

use place::{byte, range};

/// The longest message of a client, in bytes.
const MESSAGE_MAX: usize = 16 * 1024 * 1024;
/// Markers of the documents that it checks.
const MARKERS: [&str; 2] = ["provost/plan/v1", "provost/playbook/v1"];
/// The code of JSON-RPC for a request that it does not know.
const UNKNOWN_METHOD: i64 = -32601;
/// The code of the protocol for a request that cannot be done.
const REQUEST_FAILED: i64 = -32803;

struct Server<'p, W: Write> {
    place: &'p WorkspacePath,
    /// The workspace, or why it cannot be used.
    workspace: Result<Workspace, String>,
    open: BTreeMap<String, OpenText>,
    out: W,
}

/// A text of the editor, and what the check says of it.
struct OpenText {
    text: String,
    findings: Vec<Value>,
}

/// Serves one editor until it says `exit` or goes away.
pub fn serve(place: &WorkspacePath) -> Result<Exit, Failure> {
    let broken = |error: io::Error| {
        let reason = crate::document::reason(&error);
        Failure::failed(format!("the editor cannot be spoken to: {reason}"))
    };
    let mut server = Server {
        place,
        workspace: opened(place),
        open: BTreeMap::new(),
        out: io::stdout().lock(),
    };
    let mut input = io::stdin().lock();
    while let Some(message) = read(&mut input).map_err(broken)? {
        if text_at(&message, "/method") == "exit" {
            break;
        }
        server.hear(&message).map_err(broken)?;
    }
    Ok(Exit::Done)
}

/// The text behind a pointer; empty if there is none.
fn text_at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

fn opened(place: &WorkspacePath) -> Result<Workspace, String> {
    place
        .unlocked()
        .map_err(|failure| failure.message().to_owned())
}

/// One message with its header; none at the end of the input.
fn read(input: &mut impl BufRead) -> io::Result<Option<Value>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.by_ref().take(4096).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let header = line.split_once(':');
        if let Some((_, value)) =
            header.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let length = length.filter(|length| *length <= MESSAGE_MAX);
    let unread = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "a message without a usable length",
        )
    };
    let mut bytes = vec![0; length.ok_or_else(unread)?];
    input.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
}

impl<W: Write> Server<'_, W> {
    fn send(&mut self, mut message: Value) -> io::Result<()> {
        if let Value::Object(map) = &mut message {
            map.insert("jsonrpc".to_owned(), json!("2.0"));
        }
        let text = message.to_string();
        write!(self.out, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.out.flush()
    }

    fn hear(&mut self, message: &Value) -> io::Result<()> {
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        let uri = text_at(params, "/textDocument/uri");
        match method {
            "textDocument/didOpen" => {
                return self.checked(uri, text_at(params, "/textDocument/text"));
            }
            "textDocument/didChange" => {
                let last = params["contentChanges"]
                    .as_array()
                    .and_then(|all| all.last());
                let text = last.and_then(|change| change["text"].as_str());
                return self.checked(uri, text.unwrap_or_default());
            }
            // Why: a tool, a policy or a limit may be another now.
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => return self.anew(),
            "textDocument/didClose" => {
                self.open.remove(uri);
                return self.publish(uri, &[]);
            }
            _ => {}
        }
        let Some(id) = message.get("id").filter(|_| !method.is_empty()) else {
            return Ok(());
        };
        let at = &params["position"];
        let answer = match method {
            "initialize" => Some(capabilities()),
            "shutdown" => Some(Value::Null),
            "textDocument/hover" => Some(self.hover(uri, at)),
            "textDocument/completion" => Some(self.complete(uri, at)),
            "textDocument/prepareRename" => Some(self.named(uri, at)),
            "textDocument/rename" => {
                let renamed = self.rename(uri, at, text_at(params, "/newName"));
                let answer = match renamed {
                    Ok(edit) => json!({ "id": id, "result": edit }),
                    Err(why) => {
                        let error = json!({ "code": REQUEST_FAILED, "message": why });
                        json!({ "id": id, "error": error })
                    }
                };
                return self.send(answer);
            }
            "textDocument/definition" => Some(self.definition(uri, at)),
            "textDocument/codeAction" => Some(self.fixes(uri, &params["range"])),
            _ => None,
        };
        let answer = match answer {
            Some(result) => json!({ "id": id, "result": result }),
            None => json!({
                "id": id,
                "error": { "code": UNKNOWN_METHOD, "message": format!("no method `{method}`") },
            }),
        };
        self.send(answer)
    }

    /// Takes a text and says what the check says of it.
    fn checked(&mut self, uri: &str, text: &str) -> io::Result<()> {
        let findings = self.findings(uri, text);
        self.publish(uri, &diagnostics(text, &findings))?;
        let text = text.to_owned();
        self.open
            .insert(uri.to_owned(), OpenText { text, findings });
        Ok(())
    }

    fn findings(&self, uri: &str, text: &str) -> Vec<Value> {
        if !MARKERS.iter().any(|marker| text.contains(marker)) {
            return Vec::new();
        }
        let workspace = match &self.workspace {
            Ok(workspace) => workspace,
            Err(reason) => {
                let message = format!("{reason}; `provost doctor` tells more");
                return vec![json!({ "severity": "error", "message": message })];
            }
        };
        match Document::of(Source::new(name_of(uri), text)) {
            Ok(document) => {
                let found = findings_json(&judge(workspace, document));
                found.as_array().cloned().unwrap_or_default()
            }
            Err(failure) => vec![json!({ "severity": "error", "message": failure.message() })],
        }
    }

    /// Reads the workspace again, and checks every open text.
    fn anew(&mut self) -> io::Result<()> {
        self.workspace = opened(self.place);
        for (uri, open) in std::mem::take(&mut self.open) {
            self.checked(&uri, &open.text)?;
        }
        Ok(())
    }

    fn publish(&mut self, uri: &str, diagnostics: &[Value]) -> io::Result<()> {
        self.send(json!({
            "method": "textDocument/publishDiagnostics",
            "params": { "uri": uri, "diagnostics": diagnostics },
        }))
    }

    /// The tool or the step that is named there, and the page of a finding.
    fn hover(&self, uri: &str, at: &Value) -> Value {
        let Some(open) = self.open.get(uri) else {
            return Value::Null;
        };
        let byte = byte(&open.text, at);
        let found = open.findings.iter().find(|finding| {
            let (start, end) = bytes(&finding["place"]);
            (start..=end).contains(&byte) && finding.get("place").is_some()
        });
        let page = found.and_then(|finding| {
            let code = Code::from_text(finding["code"].as_str()?)?;
            Some(code.page().to_owned())
        });
        let (name, start) = words::name_at(&open.text, byte);
        let step = || {
            let step = words::step_named(&open.text, name)?;
            let tool = step.tool.as_deref().unwrap_or("(no call)");
            Some(format!("step `{}`: {tool}\n", step.id))
        };
        let parts: Vec<String> = [self.tool(name).or_else(step), page]
            .into_iter()
            .flatten()
            .collect();
        if parts.is_empty() {
            return Value::Null;
        }
        json!({
            "contents": { "kind": "markdown", "value": parts.join("\n---\n\n") },
            "range": range(&open.text, start, start + name.len()),
        })
    }

    /// The entry of a tool.
    fn tool(&self, name: &str) -> Option<String> {
        let tool = self.workspace.as_ref().ok()?.catalog().get(name)?;
        let mut text = format!(
            "**{name}** ({}, {} risk)\n",
            tool.effect.word(),
            tool.risk().word()
        );
        text += &format!("\n{}\n", tool.description);
        let arguments = arguments(tool.input.value());
        if !arguments.is_empty() {
            text += &format!("\nArguments: {}\n", arguments.join(", "));
        }
        Some(text)
    }

    /// Names that can stand there: tools, steps, arguments of the step's tool.
    fn complete(&self, uri: &str, at: &Value) -> Value {
        let (Some(open), Ok(workspace)) = (self.open.get(uri), &self.workspace) else {
            return json!([]);
        };
        let byte = byte(&open.text, at);
        let line = words::line_before(&open.text, byte);
        let (name, start) = words::name_at(&open.text, byte);
        let before = line
            .get(..line.len().saturating_sub(byte - start))
            .unwrap_or_default();
        let item = |label: &str, kind: u8, detail: &str| {
            let label = label.to_owned();
            json!({ "label": label, "kind": kind, "detail": detail })
        };
        let steps = words::steps(&open.text);
        let key = before.trim_end();
        if key.ends_with("tool:") {
            let tools = workspace.catalog().iter();
            return tools
                .map(|tool| item(&tool.name, 3, tool.effect.word()))
                .collect();
        }
        if name.starts_with("steps.") || key.contains("needs:") {
            let of = |step: &words::StepText| {
                let label = match name.starts_with("steps.") {
                    true => format!("steps.{}", step.id),
                    false => step.id.clone(),
                };
                item(&label, 6, step.tool.as_deref().unwrap_or_default())
            };
            return steps.iter().map(of).collect();
        }
        let step = words::step_at(&open.text, byte).and_then(|step| step.tool);
        let tool = step.and_then(|tool| workspace.catalog().get(&tool));
        let in_args = key.contains("args:") || open.text.get(..start).is_some_and(in_args);
        match tool.filter(|_| in_args) {
            Some(tool) => {
                let names = arguments(tool.input.value());
                names.iter().map(|name| item(name, 5, &tool.name)).collect()
            }
            None => json!([]),
        }
    }

    /// Where the step that a name means has its id.
    fn definition(&self, uri: &str, at: &Value) -> Value {
        let Some(open) = self.open.get(uri) else {
            return Value::Null;
        };
        let (name, _) = words::name_at(&open.text, byte(&open.text, at));
        words::step_named(&open.text, name).map_or(Value::Null, |step| {
            let end = step.start + step.id.len();
            json!({ "uri": uri, "range": range(&open.text, step.start, end) })
        })
    }

    /// The step that is named there: its text as it would be replaced, and its id.
    fn step_at<'t>(&'t self, uri: &str, at: &Value) -> Option<(&'t OpenText, usize, String)> {
        let open = self.open.get(uri)?;
        let here = byte(&open.text, at);
        let id = words::step_named(&open.text, words::name_at(&open.text, here).0)?.id;
        let mut places = rename::places(&open.text, &id).into_iter();
        let start = places.find(|start| (*start..=start + id.len()).contains(&here))?;
        Some((open, start, id))
    }

    fn named(&self, uri: &str, at: &Value) -> Value {
        self.step_at(uri, at)
            .map_or(Value::Null, |(open, start, id)| {
                let range = range(&open.text, start, start + id.len());
                json!({ "range": range, "placeholder": id })
            })
    }

    /// The edits that give a step another name. An `Err` says why it cannot have it: the check of
    /// the text with the new name must come to the findings that the text has.
    fn rename(&self, uri: &str, at: &Value, name: &str) -> Result<Value, String> {
        let Some((open, _, id)) = self.step_at(uri, at) else {
            return Err("no step is named there".to_owned());
        };
        if !rename::is_name(name) {
            return Err(format!(
                "`{name}` cannot name a step: a name has up to 40 lower-case letters, digits and \
                 `_`, and begins with a letter"
            ));
        }
        let places = rename::places(&open.text, &id);
        let mut renamed = open.text.clone();
        for start in places.iter().rev() {
            renamed.replace_range(*start..start + id.len(), name);
        }
        let codes = |findings: &[Value]| {
            let codes = findings.iter().map(|finding| finding["code"].to_string());
            let mut codes: Vec<String> = codes.collect();
            codes.sort();
            codes
        };
        let found = self.findings(uri, &renamed);
        if codes(&found) != codes(&open.findings) {
            let known = codes(&open.findings);
            let new = found.iter();
            let new = new.filter(|one| !known.contains(&one["code"].to_string()));
            let said: Vec<&str> = new.filter_map(|one| one["message"].as_str()).collect();
            return Err(format!(
                "the plan would be another one: {}",
                said.join("; ")
            ));
        }
        let edits = places.into_iter().map(
            |start| json!({ "range": range(&open.text, start, start + id.len()), "newText": name }),
        );
        Ok(json!({ "changes": { uri: edits.collect::<Value>() } }))
    }

    /// The safe fixes of the findings in a range.
    fn fixes(&self, uri: &str, within: &Value) -> Value {
        let Some(open) = self.open.get(uri) else {
            return json!([]);
        };
        let text = open.text.as_str();
        let (first, last) = (byte(text, &within["start"]), byte(text, &within["end"]));
        let near = open.findings.iter().filter(|finding| {
            let (start, end) = bytes(&finding["place"]);
            start <= last && first <= end
        });
        let fixes = near.filter_map(|finding| {
            let fix = finding.get("fix")?;
            let edits = fix["edits"].as_array()?.iter().map(|edit| {
                let (start, end) = bytes(&edit["place"]);
                json!({ "range": range(text, start, end), "newText": edit["text"] })
            });
            Some(json!({
                "title": fix["title"], "kind": "quickfix",
                "diagnostics": diagnostics(text, std::slice::from_ref(finding)),
                "edit": { "changes": { uri: edits.collect::<Value>() } },
            }))
        });
        fixes.collect()
    }
}

fn capabilities() -> Value {
    json!({
        "capabilities": {
            // Whole texts: a check reads the whole text anyway.
            "textDocumentSync": { "openClose": true, "change": 1, "save": true },
            "hoverProvider": true,
            "completionProvider": { "triggerCharacters": [".", " "] },
            "definitionProvider": true,
            "renameProvider": { "prepareProvider": true },
            "codeActionProvider": { "codeActionKinds": ["quickfix"] },
        },
        "serverInfo": { "name": "provost", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// The name that a document has in messages: its path from here, as `check` would be given it.
fn name_of(uri: &str) -> String {
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    let here = std::env::current_dir().unwrap_or_default();
    let short = Path::new(path).strip_prefix(&here);
    short.map_or(path.to_owned(), |short| {
        short.to_string_lossy().into_owned()
    })
}

fn bytes(place: &Value) -> (usize, usize) {
    let of = |index: usize| {
        let value = place["bytes"].get(index).and_then(Value::as_u64);
        value.and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
    };
    (of(0), of(1))
}

/// Findings of the check as the protocol has them.
fn diagnostics(text: &str, findings: &[Value]) -> Vec<Value> {
    let each = findings.iter().map(|finding| {
        let (start, end) = bytes(&finding["place"]);
        let severity = match finding["severity"].as_str() {
            Some("error") => 1,
            Some("warning") => 2,
            _ => 3,
        };
        let said = [&finding["message"], &finding["hint"]];
        let said: Vec<&str> = said.iter().filter_map(|text| text.as_str()).collect();
        json!({
            "range": range(text, start, end), "severity": severity, "source": "provost",
            "code": finding["code"], "message": said.join("\nhint: "),
        })
    });
    each.collect()
}

/// The names of a tool's arguments, those that are required first.
fn arguments(schema: &Value) -> Vec<String> {
    let properties = schema["properties"].as_object();
    let mut names: Vec<String> = properties
        .map(|map| map.keys().cloned().collect())
        .unwrap_or_default();
    let required = |name: &String| {
        let list = schema["required"].as_array();
        list.is_some_and(|list| list.iter().any(|one| one == name.as_str()))
    };
    names.sort_by_key(|name| !required(name));
    names
}

/// Whether the innermost open key of a text is `args`.
fn in_args(before: &str) -> bool {
    let mut lines = before.rsplit('\n');
    let current = lines.next().unwrap_or_default();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let depth = indent(current);
    let above = lines.find(|line| !line.trim().is_empty() && indent(line) < depth);
    above.is_some_and(|line| line.trim_end().ends_with("args:"))
}
