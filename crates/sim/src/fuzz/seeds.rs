//! What fuzzing begins with: the plans of the corpus, expressions, documents, policies; and words.
//!
//! Owns reading them. Never writes. INVARIANT: in the order of their paths, so that a seed of the
//! generator gives the same inputs everywhere.

use std::fs;
use std::path::{Path, PathBuf};

use provost_plan::policy::{DEFAULT_POLICY, SOLO_POLICY};

/// Pieces that mutation puts in: words of the languages, limits, and what upsets readers.
pub const WORDS: &[&str] = &[
    "steps:\n",
    "  - id: a\n",
    "    tool: tickets.count\n",
    "    args: { project: PAY }\n",
    "    needs: [a]\n",
    "    when: ${ steps.a.output.total > 0 }\n",
    "    accept: ['${ true }']\n",
    "    for_each: ${ steps.a.output.items }\n",
    "    max_items: 1000\n",
    "    retry: 100\n",
    "    on_failure: continue\n",
    "    approval: required\n",
    "    risk: low\n",
    "    question: ok?\n",
    "    expect: { type: object }\n",
    "    timeout: 5m\n",
    "success:\n",
    "  - { for: goal, check: '${ steps.a.status == \"succeeded\" }' }\n",
    "answer: \"${ steps.a.output }\"\n",
    "${ ",
    " }",
    "$${",
    "steps.a",
    ".output",
    ".status",
    ".error",
    "[0]",
    "item",
    "index",
    "params",
    "run.id",
    "output.total",
    "has(",
    "size(",
    "json(",
    ".map(x, x)",
    ".filter(x, x > 1)",
    ".exists(x, x == 1)",
    ".all(x, true)",
    ".split(\",\")",
    ".replace(\"a\", \"\", 2)",
    ".substring(1)",
    ".indexOf(\"a\", 1)",
    ".sort()",
    ".distinct()",
    ".flatten(2)",
    ".slice(0, 1)",
    ".reverse()",
    "\"%s %.2f\".format([1, 2])",
    "lists.range(3)",
    "zip([1], [2])",
    "keys(",
    "values(",
    "math.greatest(",
    "math.abs(",
    "json_parse(",
    ".capture(\"(a)\")",
    " == ",
    " != null",
    " && ",
    " || ",
    " ? ",
    " : ",
    " in ",
    " + ",
    " - ",
    " * ",
    " / ",
    " % ",
    "!",
    "-",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ",",
    ": ",
    "\"",
    "'",
    "r\"",
    "b\"",
    "\\u0041",
    "\\n",
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "1.5",
    "1e308",
    "1e-400",
    "9007199254740992",
    "9007199254740993",
    "-0.0",
    "0x7f",
    "0o17",
    ".inf",
    ".nan",
    "~",
    "<<: *a",
    "&a ",
    "!!str ",
    "|\n",
    ">-\n",
    "# comment\n",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}[2J",
    "é",
    "\u{1f600}",
    "\u{0}",
    "\u{85}",
    "\u{2028}",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "? ",
    "- ",
    "duration(\"1h\")",
    "timestamp(run.started_at)",
    ".matches(\"^(a+)+$\")",
    "round(",
    "sum(",
    "first(",
    "{\"type\": \"string\", \"pattern\": \"^a{1,64}$\"}",
    "{\"$ref\": \"#\"}",
    "{\"enum\": [1, 2]}",
    "on_failure: continue, ",
    "approval: required, ",
    "risk: low, ",
    "timeout: 5m, ",
    "needs: [a], ",
    "{\"allOf\": [",
    "{\"anyOf\": [",
    "permit (principal, action, resource);\n",
    "forbid (principal, action, resource)\n",
    "when { context.args.id == \"a\" };\n",
    "unless { resource.attended };\n",
    "@id(\"x\")\n",
    "@quorum(\"2\")\n",
    "context.args has project",
    "context.sinks.contains(\"a\")",
    "context.hosts",
    "context.opaque.isEmpty()",
    "resource.effect",
    "like \"*a*\"",
    ".lessThan(decimal(\"1.5\"))",
    "\n---\n",
];

/// The folder `corpus` of the repository.
#[must_use]
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// The plans of the corpus.
#[must_use]
pub fn plans() -> Vec<Vec<u8>> {
    let folders = ["plans/bad", "plans/ok"];
    let files = folders
        .iter()
        .flat_map(|folder| files(&corpus().join(folder)));
    files
        .filter_map(|file| block(&fs::read_to_string(file).ok()?, "yaml plan"))
        .map(String::into_bytes)
        .collect()
}

/// Plans, and schemas and values as JSON.
#[must_use]
pub fn documents() -> Vec<Vec<u8>> {
    let mut all = plans();
    let own = [
        r#"{"b": [1, 2.5, -0.0, 1e21, "é", null], "a": {"": true}}"#,
        r##"{"type": "object", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"enum": [1]}}}"##,
        "[tools.a]\nkind = \"http\"\nlist = [1, 2.0, 2026-11-21T06:00:00Z]\n",
    ];
    all.extend(own.map(|text| text.as_bytes().to_vec()));
    all
}

/// Expressions, as they stand in the plans of the corpus and as few people write them.
#[must_use]
pub fn expressions() -> Vec<Vec<u8>> {
    let own = [
        "${ steps.a.output.rows.map(r, r.n).filter(n, n != null) }",
        "${ size(steps.a.output.rows) > 0 ? steps.a.output.rows[0].id : 'none' }",
        "at ${ timestamp(steps.a.output.at) + duration('1h') } of ${ params.service }",
        "${ json({'a': [1, 2.0, r'\\d'], 'b': output.total in [1, 2, 3]}) }",
        "${ has(steps.a.output.total) && steps.a.output.rows.exists(r, r.id.matches('^[a-z]$')) }",
        "${ sum([1, 2, 3]) + round(1.25, 1) - min(1, 2) }",
    ];
    let mut all: Vec<Vec<u8>> = own.map(|text| text.as_bytes().to_vec()).to_vec();
    for plan in plans() {
        let text = String::from_utf8_lossy(&plan).into_owned();
        let cut = text.match_indices("${").filter_map(|(at, _)| {
            let rest = text.get(at..)?;
            rest.get(..rest.find('}')? + 1)
                .map(|part| part.as_bytes().to_vec())
        });
        all.extend(cut);
    }
    all.sort();
    all.dedup();
    all
}

/// Policies with arguments behind them, and arguments alone.
#[must_use]
pub fn policies() -> Vec<Vec<u8>> {
    let args = [
        r#"{"project": "PAY"}"#,
        r#"{"id": "PAY-7", "note": "a"}"#,
        r#"{"id": "PAY-7", "set": {"a": 1.5}}"#,
        r#"{"message": "hello", "urgency": "low"}"#,
        r#"{"url": "https://user@example.org:80/a?b=https://c.example"}"#,
    ];
    let own = "@id(\"a\")\nforbid (principal, action == Action::\"tickets.close\", resource)\n\
               when { !resource.attended && context.args.id like \"PAY*\" };\n";
    let mut all: Vec<Vec<u8>> = args.map(|text| text.as_bytes().to_vec()).to_vec();
    for policy in [own, DEFAULT_POLICY, SOLO_POLICY] {
        all.extend(args.map(|args| format!("{policy}\n---\n{args}").into_bytes()));
    }
    all
}

/// The inputs that were found before, target by target, each with its path.
#[must_use]
pub fn found(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let files = files(&corpus().join("fuzz").join(target));
    files
        .into_iter()
        .filter_map(|path| Some((path.clone(), fs::read(path).ok()?)))
        .collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    paths
}

/// The text of a fenced block.
fn block(text: &str, info: &str) -> Option<String> {
    let open = format!("```{info}\n");
    let rest = text.get(text.find(&open)? + open.len()..)?;
    rest.get(..rest.find("\n```")? + 1).map(str::to_owned)
}
