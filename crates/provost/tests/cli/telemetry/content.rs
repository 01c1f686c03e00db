//! What each value of `content` lets out: values by their labels, and secrets never.

use super::{JSON, Mood, TraceReceiver, sends_to};
use crate::workplace::Workplace;

/// A secret that a tool gives: the label of its output says so.
const GIVEN: &str = "goshawk-of-a-vault+Jm02yc";
/// A secret that the workspace knows.
const KNOWN: &str = "kestrel-of-a-header+Wp47tq";

/// A trusted path, an untrusted text, a secret that a tool gives, a text that is long.
const PLAN: &str = r#"schema: provost/plan/v1
goal:
  text: Copy the plover into a page
  success: [ { id: copied, text: the page is there } ]
steps:
  - id: token
    tool: vault.read
    args: { path: token.txt }
  - id: page
    tool: notes.read
    args: { path: wagtail.txt }
  - id: copy
    tool: notes.write
    args: { path: heron.txt, text: '${ steps.page.output.text }' }
success:
  - { for: copied, check: '${ steps.copy.output.bytes > 0 && size(steps.token.output.text) > 0 }' }
answer:
  - { text: 'It says ${ steps.page.output.text }', cites: [page, copy] }
"#;

/// What arrives of a run at a setting.
fn sent(content: &str) -> String {
    let receiver = TraceReceiver::start(Mood::Takes);
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let vault = "\n[tools.vault]\nkind = \"files\"\nroot = \"vault\"\n\
                 [tools.vault.ops.read]\nop = \"read\"\neffect = \"read\"\nsecret = true\n";
    place.write("provost.toml", format!("{config}{vault}"));
    place.write("vault/token.txt", GIVEN);
    place.write("named.canary", KNOWN);
    // Where the text is cut there is a secret that no label tells.
    let text = format!("dunlin {}{KNOWN} {KNOWN}", "curlew ".repeat(578));
    place.write("notes/wagtail.txt", &text);
    place.write("plan.yaml", PLAN);
    place.run(&["apply", "plan.yaml"]).exits(3);
    let (run, card) = place.card();
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    let table = format!("headers = {{ x-key = \"file:named.canary\" }}\n{JSON}\n{content}");
    sends_to(&place, &receiver.url, &table);
    place.run(&["export", "otlp", &run, "--send"]).exits(0);
    let all: Vec<String> = receiver.taken().iter().map(|one| one.text()).collect();
    all.concat()
}

#[test]
fn content_leaves_by_its_label_and_a_secret_never() {
    // Each word of the run, and the settings at which it leaves.
    let words = [
        (
            "gen_ai.operation.name",
            ["none", "labels", "trusted", "all"].as_slice(),
        ),
        ("provost.args.labels", &["labels", "trusted", "all"]),
        ("gen_ai.tool.call.arguments", &["trusted", "all"]),
        ("heron.txt", &["trusted", "all"]),
        ("gen_ai.tool.call.result", &["all"]),
        ("dunlin", &["all"]),
        ("plover", &["all"]),
        ("It says", &["all"]),
        ("gen_ai.tool.call.result.digest", &["all"]),
    ];
    for name in ["", "none", "labels", "trusted", "all"] {
        let setting = match name {
            "" => String::new(),
            name => format!("content = \"{name}\""),
        };
        let text = sent(&setting);
        let name = if name.is_empty() { "none" } else { name };
        for (word, at) in words {
            let there = text.contains(word);
            assert_eq!(there, at.contains(&name), "{word} at `{setting}`: {text}");
        }
        // Why the beginning alone: half of a secret, where a text was cut, would be enough.
        for secret in [GIVEN, KNOWN] {
            assert!(!text.contains(&secret[..7]), "`{setting}`: {text}");
        }
        assert_eq!(
            text.contains("secret"),
            name != "none",
            "`{setting}`: {text}"
        );
    }
}
