//! The pages for people: what stands in a block is run, parsed or says why not.
//!
//! Commands are typed in order, as printed, in one folder a page that holds the examples. `RUN` and
//! `RUN@DIGEST` are the newest run and its card. `console` also compares what is printed.
//! `<!-- run … -->` is for the test alone: what a reader has at this place already.

mod blocks;
mod shell;

use std::path::Path;

use blocks::Block;
use shell::{Done, Shell};

/// The pages whose blocks are run.
const PAGES: [&str; 36] = [
    "README.md",
    "docs/concepts/business-rules.md",
    "docs/concepts/granularity.md",
    "docs/concepts/outcomes.md",
    "docs/concepts/promises.md",
    "docs/concepts/reason-act.md",
    "docs/concepts/verdicts.md",
    "docs/concepts/when-not.md",
    "docs/concepts/words.md",
    "docs/guides/agents.md",
    "docs/guides/approvals.md",
    "docs/guides/editor.md",
    "docs/guides/embedding.md",
    "docs/guides/evaluate.md",
    "docs/guides/first-run.md",
    "docs/guides/operating.md",
    "docs/guides/pages.md",
    "docs/guides/planners.md",
    "docs/guides/server.md",
    "docs/guides/team.md",
    "docs/guides/tools.md",
    "docs/guides/working.md",
    "docs/install.md",
    "docs/reference/eval-set.md",
    "docs/reference/events.md",
    "docs/reference/exit-codes.md",
    "docs/reference/findings.md",
    "docs/reference/journal.md",
    "docs/reference/json.md",
    "docs/reference/log.md",
    "docs/reference/metrics.md",
    "docs/reference/plan.md",
    "docs/reference/playbook.md",
    "docs/reference/policy.md",
    "docs/reference/provost-toml.md",
    "docs/reference/tools.md",
];

/// What is wrong with a part of a plan because it is a part: its tools, the steps and parameters that
/// stand elsewhere, its goal and its answer.
const OF_PARTS: [&str; 7] = ["R101", "R102", "R105", "R110", "S702", "S705", "S707"];

/// A page while its blocks are run.
struct Reading {
    shell: Shell,
    faults: Vec<String>,
    page: String,
}

impl Reading {
    fn fault(&mut self, block: &Block, why: impl std::fmt::Display) {
        self.faults
            .push(format!("{}:{}: {why}", self.page, block.line));
    }

    fn read(&mut self, block: &Block) {
        if let Some(fault) = block.fault() {
            return self.fault(block, fault);
        }
        let text = block.text.as_str();
        match (block.language.as_str(), block.attribute("no-run")) {
            ("sh" | "console", Some(_)) => self.options(block),
            (_, Some(_)) | ("text", None) => {}
            ("sh", None) => self.commands(block),
            ("console", None) => self.session(block),
            ("run" | "python", None) => {
                let done = match block.language.as_str() {
                    "run" => self.shell.types(&format!("set -e\n{text}")),
                    _ => {
                        self.shell.write("page.py", text);
                        self.shell.types("python3 page.py")
                    }
                };
                self.ended(block, text, &done);
            }
            ("json", None) => {
                if let Err(error) = serde_json::from_str::<serde_json::Value>(text) {
                    self.fault(block, error);
                }
            }
            ("toml", None) => self.settings(block),
            ("yaml", None) if block.attribute("of").is_some() => self.excerpt(block),
            ("yaml", None) if text.starts_with("schema: provost/policy-test/") => {
                self.shell.types("mkdir -p policies/tests");
                self.shell.write("policies/tests/page.yaml", text);
                let done = self.shell.types("provost policy test");
                self.ended(block, "provost policy test", &done);
            }
            ("yaml", None) => self.plan(block),
            ("cedar", None) => {
                self.shell
                    .write(&format!("policies/page{}.cedar", block.line), text);
                let done = self.shell.types("provost policy check");
                self.ended(block, "provost policy check", &done);
            }
            ("ini", None) => {
                let is_ini = |line: &str| line.starts_with('[') || line.contains('=');
                if !text.lines().all(|line| line.is_empty() || is_ini(line)) {
                    self.fault(block, "neither a section nor a value");
                }
            }
            (other, None) => self.fault(block, format!("nothing reads `{other}`")),
        }
    }

    fn ended(&mut self, block: &Block, line: &str, done: &Done) {
        let expected = block.attribute("exits").unwrap_or("0");
        if done.code.to_string() != expected {
            let said = format!(
                "`{line}` exits {}, not {expected}\n{}",
                done.code, done.text
            );
            self.fault(block, said);
        }
    }

    /// Each command ends with its code of `exits`, or with 0.
    fn commands(&mut self, block: &Block) {
        let mut codes = block.attribute("exits").unwrap_or_default().split(',');
        for line in lines(&block.text) {
            let expected = codes.next().filter(|code| !code.is_empty()).unwrap_or("0");
            let done = self.shell.types(&line);
            if done.code.to_string() != expected {
                let said = format!("`{line}` exits {}, not {expected}", done.code);
                self.fault(block, format!("{said}\n{}", done.text));
            }
        }
    }

    /// Each command prints what stands below it, if anything does.
    fn session(&mut self, block: &Block) {
        for part in block.text.split("$ ").skip(1) {
            let (line, printed) = part.split_once('\n').unwrap_or((part, ""));
            let question = printed.lines().find_map(|line| line.rsplit_once("later: "));
            let done = match (block.is("terminal"), question) {
                (true, Some((_, answer))) => self.shell.answers(line, "later:", answer),
                _ => self.shell.types(line),
            };
            self.ended(block, line, &done);
            if printed.trim().is_empty() {
                continue;
            }
            let mut wanted = self.shell.folded(printed);
            let mut seen = self.shell.folded(&done.text);
            if block.is("unordered") {
                wanted.sort();
                seen.sort();
            }
            if block.is("shortened") {
                seen = subsequence(&wanted, &seen);
            }
            if wanted != seen {
                let missing = wanted.iter().filter(|line| !seen.contains(line));
                let missing: Vec<_> = missing.collect();
                let new: Vec<_> = seen.iter().filter(|line| !wanted.contains(line)).collect();
                let why = format!("`{line}` prints something else: not {missing:#?}, but {new:#?}");
                self.fault(block, format!("{why}\n{}", done.text));
            }
        }
    }

    /// A part of `provost.toml` loads: in a new workspace, or in a copy of the one that `in` names.
    fn settings(&mut self, block: &Block) {
        let append = format!(
            "cat >> provost.toml <<'END'\n{}END\nprovost tools list",
            block.text
        );
        let done = match block.attribute("in") {
            Some(dir) => {
                let copy = format!("cp -r {dir} {dir}-{}", block.line);
                self.shell.types(&format!(
                    "({copy} && cd {dir}-{} && {append}\n)",
                    block.line
                ))
            }
            None => {
                let mut made = Shell::new();
                made.types("provost init made && cd made && rm -r playbooks && mkdir playbooks");
                made.types(&append)
            }
        };
        if done.code != 0 || done.text.contains("warning") {
            self.fault(block, format!("it does not load\n{}", done.text));
        }
    }

    /// A plan is checked in the workspace of the page, a part of one as the steps or the fields of a
    /// step that it is: only what comes of being a part may be wrong with it.
    fn plan(&mut self, block: &Block) {
        let text = &block.text;
        let all = |indent: &str| {
            let lines = text.lines().map(|line| format!("{indent}{line}\n"));
            lines.collect::<String>()
        };
        let head = "schema: provost/plan/v1\ngoal: g\n";
        let begins = |with: &str| text.lines().any(|line| line.starts_with(with));
        let (plan, is_whole) = match () {
            () if begins("schema:") => (text.clone(), true),
            () if begins("- ") => (format!("{head}steps:\n{}", all("  ")), false),
            () if begins("steps:") => (format!("{head}{text}"), false),
            () => {
                let step = "  - id: one\n    tool: x.y\n";
                (format!("{head}steps:\n{step}{}", all("    ")), false)
            }
        };
        self.shell.write("page.yaml", &plan);
        let done = self.shell.types("provost check page.yaml --json");
        let checked: serde_json::Value = serde_json::from_str(&done.text).unwrap_or_default();
        let Some(findings) = checked["findings"].as_array() else {
            return self.fault(block, format!("it cannot be checked\n{}", done.text));
        };
        for finding in findings
            .iter()
            .filter(|finding| finding["severity"] != "note")
        {
            let code = finding["code"].as_str().unwrap_or_default();
            if is_whole || !OF_PARTS.contains(&code) {
                self.fault(block, format!("{code}: {}", finding["message"]));
            }
        }
    }

    /// What stands in a file of the repository, too.
    fn excerpt(&mut self, block: &Block) {
        let Some(name) = block.attribute("of") else {
            return;
        };
        let file = std::fs::read_to_string(repository(name)).unwrap_or_default();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !words(&file).contains(&words(&block.text)) {
            self.fault(block, format!("it does not stand in {name}"));
        }
    }

    /// Commands that are not run have verbs and options that there are.
    fn options(&mut self, block: &Block) {
        for line in lines(&block.text) {
            let line = line.trim_start_matches("$ ").to_owned();
            let line = line
                .split(" -- ")
                .next()
                .unwrap()
                .split(" #")
                .next()
                .unwrap()
                .to_owned();
            let Some((_, line)) = line.split_once("provost ") else {
                continue;
            };
            let words: Vec<&str> = line.split_whitespace().collect();
            let words = match words.as_slice() {
                ["-C", _, rest @ ..] => rest,
                all => all,
            };
            let verbs = words
                .iter()
                .take_while(|word| word.chars().all(char::is_lowercase));
            let verbs: Vec<&str> = verbs.copied().take(2).collect();
            let help = self
                .shell
                .types(&format!("provost {} --help", verbs.join(" ")));
            let help = match verbs.as_slice() {
                [verb, _] if help.code != 0 => self.shell.types(&format!("provost {verb} --help")),
                _ => help,
            };
            let options = words.iter().filter(|word| word.starts_with('-'));
            let missing: Vec<_> = options.filter(|word| !help.text.contains(**word)).collect();
            if help.code != 0 || !missing.is_empty() || verbs.is_empty() {
                self.fault(block, format!("no such command: {line} {missing:?}"));
            }
        }
    }
}

/// The commands of a block; one goes on in the next line after `\`.
fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// What is wanted of what is seen, in order.
fn subsequence(wanted: &[String], seen: &[String]) -> Vec<String> {
    let mut rest = seen.iter();
    let found = wanted
        .iter()
        .filter(|line| rest.any(|other| other == *line));
    found.cloned().collect()
}

fn repository(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn faults(page: &str, text: &str) -> Vec<String> {
    let mut reading = Reading {
        shell: Shell::new(),
        faults: Vec::new(),
        page: page.to_owned(),
    };
    let begun = std::time::Instant::now();
    for block in blocks::of(text) {
        reading.read(&block);
    }
    println!("{page}: {} ms", begun.elapsed().as_millis());
    reading.faults
}

#[test]
fn every_block_of_every_page_is_run_or_says_why_not() {
    let only = std::env::var("PROVOST_PAGE").unwrap_or_default();
    let pages = PAGES.iter().filter(|page| page.contains(&only));
    let read = |page: &&&str| {
        let page = page.to_string();
        std::thread::spawn(move || {
            faults(&page, &std::fs::read_to_string(repository(&page)).unwrap())
        })
    };
    // Why two at once: each waits for programs most of the time.
    let pages: Vec<_> = pages.collect();
    let mut all = Vec::new();
    for pair in pages.chunks(2) {
        let threads: Vec<_> = pair.iter().map(read).collect();
        all.extend(
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap()),
        );
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn no_page_is_left_out() {
    let mut all = vec!["README.md".to_owned()];
    for folder in ["docs/concepts", "docs/guides", "docs/reference"] {
        let files = std::fs::read_dir(repository(folder)).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let names = names.filter(|name| name.ends_with(".md"));
        all.extend(names.map(|name| format!("{folder}/{name}")));
    }
    all.push("docs/install.md".to_owned());
    all.sort();
    assert_eq!(all, PAGES);
}

/// The controls: what a page can do wrong is found.
#[test]
fn what_a_page_does_wrong_is_found() {
    for (planted, found) in [
        ("```\ntext\n```\n", "no language"),
        ("```sh no-run\nls\n```\n", "no reason"),
        ("```sh no-run=lazy\nls\n```\n", "no reason"),
        ("```sh quick\nls\n```\n", "no attribute"),
        (
            "```text\nprovost runs\n```\n",
            "commands in a block of text",
        ),
        ("```rust\nfn main() {}\n```\n", "nothing compiles it"),
        ("```sh\nprovost show nothing\n```\n", "exits 2, not 0"),
        (
            "```sh no-run=forms\nprovost run --quikly GOAL\n```\n",
            "no such command",
        ),
        (
            "```sh no-run=forms\nprovost rum GOAL\n```\n",
            "no such command",
        ),
        (
            "```console\n$ echo one\ntwo\n```\n",
            "prints something else",
        ),
        (
            "```console shortened\n$ printf 'a\\nb\\n'\nb\na\n```\n",
            "prints something else",
        ),
        ("```json\n{ \"a\": }\n```\n", "expected value"),
        ("```toml\n[workspace]\nuser = 3\n```\n", "does not load"),
        (
            "```toml\n[sheduled.one]\ngoal = \"x\"\n```\n",
            "does not load",
        ),
        ("```yaml\na: b\n```\n", "it cannot be checked"),
        (
            "<!-- run\ncd examples/sla\n-->\n```yaml\na: b\n```\n",
            "no field `a`",
        ),
        (
            "<!-- run\ncd examples/sla\n-->\n```yaml\n- { id: one, tool: a.b, when: '${ 1 + }' }\n```\n",
            "P009",
        ),
        (
            "<!-- run\ncd examples/sla\n-->\n```cedar\npermit (principal, action, resorce);\n```\n",
            "exits 2, not 0",
        ),
        (
            "<!-- run\nprovost init made\n-->\n```toml in=made\n[workspace]\n```\n",
            "does not load",
        ),
        ("```yaml of=README.md\na: b\n```\n", "does not stand in"),
        ("```ini\nRestart\n```\n", "neither"),
        (
            "```python\nimport nothing_like_this\n```\n",
            "exits 1, not 0",
        ),
    ] {
        let all = faults("page.md", planted);
        assert!(all.len() == 1 && all[0].contains(found), "{planted}{all:?}");
    }
    let right = "```sh exits=1,0\nfalse\ntrue\n```\n```console\n$ echo 1 ms\n2 ms\n```\n";
    assert_eq!(faults("page.md", right), [""; 0]);
}
