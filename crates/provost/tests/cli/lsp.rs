//! The language server: recorded sessions, and findings that are those of the check.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::workplace::Workplace;

/// An editor.
struct LspClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    uri: String,
    text: String,
    published: VecDeque<Value>,
    last: u64,
}

impl LspClient {
    fn new(place: &Workplace, file: &str) -> Self {
        let mut command = place.command(&["lsp", "--stdio"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let path = place.path(file).canonicalize().unwrap();
        let mut client = Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            uri: format!("file://{}", path.display()),
            text: String::new(),
            published: VecDeque::new(),
            last: 0,
        };
        let made = client.ask("initialize", &json!({ "capabilities": {} }));
        assert_eq!(made["capabilities"]["hoverProvider"], true);
        client
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let input = self.input.as_mut().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        input.flush().unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended");
            match line.trim_end().split_once(": ") {
                Some((_, value)) => length = value.parse().unwrap(),
                None => break,
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message.get("result").unwrap_or(&message["error"]).clone();
            }
            self.published.push_back(message);
        }
    }

    /// Sends a text; what is said of it.
    fn says(&mut self, method: &str, text: &str) -> Value {
        self.text = text.to_owned();
        let document = json!({ "uri": self.uri, "text": text, "version": 1, "languageId": "yaml" });
        let changes = json!([{ "text": text }]);
        let params = json!({ "textDocument": document, "contentChanges": changes });
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        let message = self.published.pop_front();
        let message = message.unwrap_or_else(|| self.receive());
        assert_eq!(message["params"]["uri"], self.uri.as_str(), "{message}");
        message["params"]["diagnostics"].clone()
    }

    /// The place of `|` in a part of the text.
    fn at(&self, part: &str) -> Value {
        let (before, after) = part.split_once('|').unwrap();
        let found = self.text.find(&format!("{before}{after}"));
        let byte = found.unwrap_or_else(|| panic!("no {part}")) + before.len();
        let line = self.text[..byte].matches('\n').count();
        let column = self.text[..byte].rsplit('\n').next().unwrap();
        json!({ "line": line, "character": column.encode_utf16().count() })
    }

    fn at_place(&mut self, method: &str, part: &str) -> Value {
        self.with_name(method, part, "")
    }

    fn with_name(&mut self, method: &str, part: &str, name: &str) -> Value {
        let at = self.at(part);
        let document = json!({ "uri": self.uri });
        let range = json!({ "start": at, "end": at });
        let params = json!({
            "textDocument": document, "position": at, "range": range, "newName": name,
        });
        self.ask(&format!("textDocument/{method}"), &params)
    }

    fn ends(mut self) {
        assert_eq!(self.ask("shutdown", &Value::Null), Value::Null);
        self.send(&json!({ "jsonrpc": "2.0", "method": "exit" }));
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// Places as people count them, and what is said there.
fn told(diagnostics: &Value) -> String {
    let lines = diagnostics.as_array().unwrap().iter().map(|one| {
        let point = |point: &Value| {
            let number = |name: &str| point[name].as_u64().unwrap() + 1;
            format!("{}:{}", number("line"), number("character"))
        };
        let range = &one["range"];
        let code = one["code"].as_str().unwrap_or("-");
        let (start, end) = (point(&range["start"]), point(&range["end"]));
        let message = one["message"].as_str().unwrap().replace('\n', " | ");
        format!("  {start}-{end} {} {code} {message}\n", one["severity"])
    });
    lines.collect()
}

/// Does what a session says, and says what came: `open FILE`, `edit FROM -> TO`, and `hover`,
/// `complete`, `definition`, `fix` at the `|` of a part of the text.
fn session(place: &Workplace, file: &str, script: &str) -> String {
    let mut editor = LspClient::new(place, file);
    let mut record = String::new();
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        record += &format!("> {line}\n");
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        record += &match verb {
            "open" => {
                let text = std::fs::read_to_string(place.path(file)).unwrap();
                told(&editor.says("textDocument/didOpen", &text))
            }
            "edit" => {
                let (from, to) = rest.split_once(" -> ").unwrap();
                assert!(editor.text.contains(from), "{from}");
                let text = editor.text.replacen(from, to, 1);
                told(&editor.says("textDocument/didChange", &text))
            }
            "hover" => {
                let found = editor.at_place("hover", rest);
                let text = found["contents"]["value"].as_str().unwrap_or("nothing");
                let text: Vec<&str> = text.lines().filter(|l| !l.is_empty()).take(3).collect();
                format!("  {}\n", text.join("\n  "))
            }
            "complete" => {
                let found = editor.at_place("completion", rest);
                let labels = found
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|one| one["label"].clone());
                let labels: Vec<String> = labels.map(|l| l.as_str().unwrap().to_owned()).collect();
                format!("  {}\n", labels.join(" "))
            }
            "definition" => {
                let found = editor.at_place("definition", rest);
                let start = &found["range"]["start"];
                match start["line"].as_u64() {
                    Some(line) => {
                        let text = editor.text.lines().nth(line as usize).unwrap();
                        format!("  {}:{} {}\n", line + 1, start["character"], text.trim())
                    }
                    None => "  nowhere\n".to_owned(),
                }
            }
            "fix" => {
                let found = editor.at_place("codeAction", rest);
                let fixes = found.as_array().unwrap().iter().map(|fix| {
                    let edits = &fix["edit"]["changes"][&editor.uri];
                    let edits = edits.as_array().unwrap().iter();
                    let texts: Vec<String> =
                        edits.map(|edit| edit["newText"].to_string()).collect();
                    format!(
                        "  {}: {}\n",
                        fix["title"].as_str().unwrap(),
                        texts.join(", ")
                    )
                });
                fixes.collect()
            }
            "rename" => {
                let (part, name) = rest.split_once(" -> ").unwrap();
                renamed(&mut editor, part, name)
            }
            other => panic!("no verb {other}"),
        };
    }
    editor.ends();
    record
}

#[test]
fn a_playbook_is_written_with_its_findings() {
    let place = Workplace::new();
    let script = "
        open
        edit tool: notes.write -> tool: notes.wirte
        fix tool: notes.wi|rte
        hover tool: notes.wi|rte
        edit tool: shop.orders -> tool: shop.ordres
        fix tool: shop.ord|res
        edit tool: shop.ordres -> tool: shop.orders
        edit tool: notes.wirte -> tool: notes.write
        hover tool: notes.wri|te
        hover steps.cou|nt.output
        definition steps.no|te.status
        definition match|:
        complete tool: notes.wri|te
        complete args: { pa|th: orders.txt
        complete steps.co|unt.output
        edit row.total } orders of -> row.total } 😀 \u{e9} orders of
        edit text: \"${ steps.count.output.row.total -> text: \"😀 ${ steps.count.output.row.totl
        edit schema: provost/playbook/v1 -> schema: something/else
        edit schema: something/else -> schema: [
    ";
    assert_snapshot!(session(&place, "playbooks/note.yaml", script));
}

/// Takes the edits of a rename as an editor does: each line that becomes another one, and what is
/// then said of the text.
fn renamed(editor: &mut LspClient, part: &str, name: &str) -> String {
    let named = editor.at_place("prepareRename", part);
    let found = editor.with_name("rename", part, name);
    let Some(edits) = found["changes"][&editor.uri].as_array() else {
        return format!("  {named}\n  {}\n", found["message"].as_str().unwrap());
    };
    let mut lines: Vec<String> = editor.text.lines().map(str::to_owned).collect();
    for edit in edits.iter().rev() {
        let at = |end: &str, of: &str| edit["range"][end][of].as_u64().unwrap() as usize;
        let line = &mut lines[at("start", "line")];
        // The texts of this session are of one unit a letter.
        line.replace_range(at("start", "character")..at("end", "character"), name);
    }
    let text = lines.join("\n") + "\n";
    let old: Vec<&str> = editor.text.lines().collect();
    let new = text.lines().zip(old).filter(|(new, old)| new != old);
    let new: String = new.map(|(new, _)| format!("  {}\n", new.trim())).collect();
    new + &told(&editor.says("textDocument/didChange", &text))
}

#[test]
fn a_step_is_renamed_wherever_it_stands() {
    let place = Workplace::new();
    let script = "
        open
        rename steps.co|unt.output -> total
        rename steps.no|te.status -> total
        rename steps.no|te.status -> 2nd
        rename steps.no|te.status -> post
        rename mat|ch: -> total
        rename id: tot|al -> count
        edit steps.count.output -> steps.coutn.output
        rename id: co|unt -> coutn
    ";
    assert_snapshot!(session(&place, "playbooks/note.yaml", script), @r#"
    > open
      12:11-12:15 3 E303 `note` is tried at most once: its tool recognises no repetition
      14:13-14:24 3 V602 a person is asked before `note` calls `notes.write`
    > rename steps.co|unt.output -> total
      - id: total
      args: { path: orders.txt, text: "${ steps.total.output.row.total } orders of ${ params.customer }" }
      12:11-12:15 3 E303 `note` is tried at most once: its tool recognises no repetition
      14:13-14:24 3 V602 a person is asked before `note` calls `notes.write`
    > rename steps.no|te.status -> total
      {"range":{"start":{"line":17,"character":37},"end":{"line":17,"character":41}},"placeholder":"note"}
      the plan would be another one: two steps are called `total`; `output.bytes` may be absent: the schema does not name it
    > rename steps.no|te.status -> 2nd
      {"range":{"start":{"line":17,"character":37},"end":{"line":17,"character":41}},"placeholder":"note"}
      `2nd` cannot name a step: a name has up to 40 lower-case letters, digits and `_`, and begins with a letter
    > rename steps.no|te.status -> post
      - id: post
      - { for: noted, check: '${ steps.post.status == "succeeded" }' }
      - { text: The note is written., cites: [post] }
      12:11-12:15 3 E303 `post` is tried at most once: its tool recognises no repetition
      14:13-14:24 3 V602 a person is asked before `post` calls `notes.write`
    > rename mat|ch: -> total
      null
      no step is named there
    > rename id: tot|al -> count
      - id: count
      args: { path: orders.txt, text: "${ steps.count.output.row.total } orders of ${ params.customer }" }
      12:11-12:15 3 E303 `post` is tried at most once: its tool recognises no repetition
      14:13-14:24 3 V602 a person is asked before `post` calls `notes.write`
    > edit steps.count.output -> steps.coutn.output
      8:11-8:16 2 S702 nothing uses what `count` reads | hint: read it in a step, in `success` or in `answer`, or leave the step out
      12:11-12:15 3 E303 `post` is tried at most once: its tool recognises no repetition
      15:43-15:71 1 R102 no step is called `coutn` | hint: did you mean `count`?
    > rename id: co|unt -> coutn
      {"range":{"start":{"line":7,"character":10},"end":{"line":7,"character":15}},"placeholder":"count"}
      the plan would be another one: a person is asked before `post` calls `notes.write`
    "#);
}

#[test]
fn a_workspace_that_cannot_be_used_is_said_in_the_text() {
    let place = Workplace::new();
    place.edit("provost.toml", "kind = \"sql\"", "kind = \"sequel\"");
    assert_snapshot!(session(&place, "playbooks/note.yaml", "open"));

    // Saving any file reads the workspace again.
    let text = std::fs::read_to_string(place.path("playbooks/note.yaml")).unwrap();
    let mut editor = LspClient::new(&place, "playbooks/note.yaml");
    let broken = editor.says("textDocument/didOpen", &text);
    assert!(told(&broken).contains("cannot be used"), "{broken}");
    place.edit("provost.toml", "kind = \"sequel\"", "kind = \"sql\"");
    let still = editor.says("textDocument/didChange", &text);
    assert_eq!(told(&still), told(&broken));
    let mended = editor.says("textDocument/didSave", &text);
    assert!(told(&mended).contains("V602"), "{mended}");
    // What is closed has no findings.
    assert_eq!(editor.says("textDocument/didClose", &text), json!([]));
    editor.ends();
}

/// A small generator, so that a failure can be made again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// A text with one slip of the hand.
fn slip(text: &str, dice: &mut Dice) -> String {
    let letters: Vec<char> = text.chars().collect();
    let at = dice.roll(letters.len());
    let more = ['x', ' ', '\n', '}', ':', '"', '$', 'é', '😀', '-'][dice.roll(10)];
    let (before, after) = letters.split_at(at);
    let text = |parts: [&[char]; 3]| parts.concat().into_iter().collect();
    match dice.roll(3) {
        0 => text([before, &[more], after]),
        1 => text([before, &after[1..], &[]]),
        _ => text([before, &[more], &after[1..]]),
    }
}

/// What the check says of files, as the server says it.
fn checked(place: &Workplace, files: &[String], texts: &[String]) -> Vec<Vec<String>> {
    let mut args = vec!["check", "--json"];
    args.extend(files.iter().map(String::as_str));
    let all = place.json(&args);
    let files = all["files"].as_array().unwrap().iter().zip(texts);
    let of = |(file, text): (&Value, &String)| {
        let name = file["file"].as_str().unwrap().to_owned();
        let findings = file["findings"].as_array().unwrap().iter();
        let one = |finding: &Value| {
            let start = finding["place"]["bytes"][0].as_u64().unwrap() as usize;
            let line = text[..start].matches('\n').count();
            let (code, message) = (&finding["code"], finding["message"].as_str().unwrap());
            format!("{line} {code} {}", message.replace(&name, "FILE"))
        };
        findings.map(one).collect()
    };
    files.map(of).collect()
}

fn said(diagnostics: &Value, name: &str) -> Vec<String> {
    let all = diagnostics.as_array().unwrap().iter();
    let one = |one: &Value| {
        let message = one["message"].as_str().unwrap();
        let message = message
            .split("\nhint: ")
            .next()
            .unwrap()
            .replace(name, "FILE");
        format!(
            "{} {} {message}",
            one["range"]["start"]["line"], one["code"]
        )
    };
    all.map(one).collect()
}

/// 1,000 with `PROVOST_COUNT=1000`: after each edit the findings are those of `check`.
#[test]
fn findings_are_those_of_the_check() {
    let count = std::env::var("PROVOST_COUNT").map_or(100, |count| count.parse().unwrap());
    let place = Workplace::new();
    let mut dice = Dice(7);
    let right = std::fs::read_to_string(place.path("playbooks/note.yaml")).unwrap();
    let (mut texts, mut files, mut text) = (Vec::new(), Vec::new(), right.clone());
    while texts.len() < count {
        // Why begun again: after some slips nothing of the text is read any more.
        text = slip(if texts.len() % 4 == 0 { &right } else { &text }, &mut dice);
        if text.contains("provost/playbook/v1") {
            let file = format!("slips/{}.yaml", texts.len());
            place.write(&file, &text);
            files.push(file);
            texts.push(text.clone());
        } else {
            text.clone_from(&right);
        }
    }
    let expected = checked(&place, &files, &texts);
    let mut editor = LspClient::new(&place, "playbooks/note.yaml");
    editor.says("textDocument/didOpen", &right);
    let mut stale = 0;
    let mut before: Vec<String> = Vec::new();
    for (text, expected) in texts.iter().zip(&expected) {
        let diagnostics = editor.says("textDocument/didChange", text);
        let found = said(&diagnostics, "playbooks/note.yaml");
        assert_eq!(found, *expected, "{text}");
        // The control: what was said of the text before is another thing.
        stale += usize::from(before != *expected);
        before = found;
    }
    editor.ends();
    assert!(
        stale > count / 2,
        "{stale} of {count} differ from the one before"
    );
    let faulty = expected.iter().filter(|found| !found.is_empty()).count();
    println!("{count} edits, {faulty} with findings, as `check` has them");
}

/// What an editor sends that is not expected: nothing ends but what is asked to.
#[test]
fn what_it_does_not_know_is_answered() {
    let place = Workplace::new();
    let mut editor = LspClient::new(&place, "playbooks/note.yaml");
    let answer = editor.ask("textDocument/foldingRange", &json!({}));
    assert_eq!(answer["code"], -32601);
    editor.send(&json!({ "jsonrpc": "2.0", "method": "$/setTrace", "params": {} }));
    editor.send(&Value::Null);
    // A text that was never opened has nothing.
    editor.text = "tool: a".to_owned();
    assert_eq!(editor.at_place("hover", "to|ol"), Value::Null);
    assert_eq!(editor.at_place("completion", "to|ol"), json!([]));
    // Far behind the end of the text is its end.
    let text = std::fs::read_to_string(place.path("playbooks/note.yaml")).unwrap();
    editor.says("textDocument/didOpen", &text);
    let position = json!({ "line": 99_999, "character": 99_999 });
    let params = json!({ "textDocument": { "uri": editor.uri }, "position": position });
    assert_eq!(editor.ask("textDocument/hover", &params), Value::Null);
    editor.ends();

    let mut child = place.spawn(&["lsp"]);
    assert!(
        child.wait().unwrap().success(),
        "the end of the input ends it"
    );
}
