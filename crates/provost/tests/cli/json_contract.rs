//! What `--json` promises: one object on stdout whatever comes, by the schema that is published.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::workplace::{PLAN, Workplace};

/// In this order, in one workspace: the schema of the object, the exit code (`-` for any), and what
/// is typed. `RUN` waits for an approval of `CARD`, `ASKED` for an answer.
const ROWS: &str = r#"
init         0 init made --json
error        2 init made --json
run          0 run "Count the orders of ada" --json
error        2 run "Do what nobody knows" --json
run          3 run "Ask whose orders count" --json
run          0 answer ASKED ada --json
error        2 answer ASKED ada --json
run          3 run "Note the orders of ada" --json
planned      0 plan "Count the orders of grace" --json
error        2 plan "Do what nobody knows" --json
check        0 check plan.yaml --json
check        1 check bad.yaml --format json
check-files  0 check --json
error        2 check none.yaml --json
convert      - check foreign.yaml --convert --json
shown        0 show plan.yaml --json
run          0 show RUN --json
step         0 show RUN note --json
error        2 show RUN none --json
export       0 audit export RUN --json
error        2 audit export zzzz --json
error        2 show zzzz --json
error        1 show bad.yaml --json
diff         0 diff plan.yaml plan.yaml --json
error        2 diff RUN --json
run          0 apply plan.yaml --json
error        2 apply none.yaml --json
card-saved   0 approve RUN --card card.json --json
error        2 approve RUN --json
error        2 approve card.json --json
error        2 reject zzzz --json
error        2 settle RUN note@4f1c --happened --reason seen --json
error        2 amend zzzz --goal other --json
run          0 amend RUN --set note.path=other.txt --record --json
error        2 record none.json --json
inbox        0 inbox --json
runs         0 runs --json
trace        0 trace RUN --json
error        2 trace zzzz --json
planner-request 0 trace RUN --request 1 --json
error        2 trace RUN --request 9 --json
why          0 why RUN --json
why          0 why RUN --recheck --json
error        2 why zzzz --json
stats        0 stats --json
recount      0 doctor --recount --json
error        2 evidence 0123456789abcdef --json
error        2 eval none.yaml --json
error        2 case check none --json
schedules    0 schedules --json
stop         0 pause --tool shop --reason "a look" --json
error        2 pause --tool none --reason "a look" --json
stop         0 resume --tool shop --json
error        2 resume --tool shop --json
run          0 pause RUN --reason "a look" --json
run          - resume RUN --json
run          0 cancel RUN --json
error        2 cancel RUN --json
run          3 run "Note the orders of grace" --json
run          0 reject RUN@CARD --json
run          3 run "Note the orders of grace" --json
run          0 approve RUN@CARD --json
error        2 approve RUN@CARD --json
error        2 undo zzzz --json
work-check   3 work --check --json
tools        0 tools list --json
tool         0 tools show notes.read --json
error        2 tools show notes.none --json
run          0 tools call shop.orders customer=ada --json
error        2 tools call shop.none --json
error        2 tools add notes --url http://127.0.0.1:9/ --json
error        2 tools prepare notes --json
error        2 tools diff --json
tools-unused 0 tools unused --json
tools-locked 0 tools lock --json
tools-diff   0 tools diff --json
policy-check 0 policy check --json
error        2 policy test --json
audit        0 audit verify --json
error        2 audit sign --json
error        2 audit accept --reason restored --json
prune        0 prune --evidence-older 30d --dry-run --json
prune-payloads 0 prune --payloads-older 30d --keep-chain --dry-run --json
error        2 prune --payloads-older 30d --json
backup       0 backup copy.db --json
error        2 backup copy.db --json
restore      0 restore copy.db --json
error        2 restore none.db --json
key-made     0 key new --name ada -o key.json --passphrase file:passphrase --json
error        2 key new --name ada -o key.json --passphrase file:passphrase --json
explain      0 explain R101 --json
codes        0 explain --json
error        2 explain X999 --json
doctor       - doctor --json
error        2 -C nowhere doctor --json
error        2 -C nowhere inbox --json
error        2 -C nowhere runs --json
error        2 -C nowhere work --json
error        2 -C nowhere prune --evidence-older 30d --json
"#;

/// What prints no object of its own: text for people and for shells, a schema, another protocol, a
/// secret that is shown once.
const NO_OBJECT: [&str; 9] = [
    "completions",
    "export",
    "help",
    "invite",
    "lsp",
    "mcp",
    "schema",
    "serve",
    "token",
];

/// The one object of a text.
fn one_object(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match value.is_object() {
        true => Ok(value),
        false => Err("it is no object".to_owned()),
    }
}

/// The published schemas, by name.
pub struct Published(BTreeMap<String, jsonschema::Validator>);

impl Published {
    pub fn of(place: &Workplace) -> Self {
        let list = place.run(&["schema"]).exits(0).raw_stdout;
        let names = list
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        let compiled = names.map(|name| {
            let schema = place.json(&["schema", name]);
            let validator = jsonschema::validator_for(&schema).unwrap();
            (name.to_owned(), validator)
        });
        Self(compiled.collect())
    }

    /// What is wrong with an object that is to be of this schema.
    pub fn faults(&self, name: &str, object: &Value) -> Vec<String> {
        let Some(schema) = self.0.get(name) else {
            return vec![format!("there is no schema `{name}`")];
        };
        let errors = schema.iter_errors(object);
        let mut faults: Vec<String> = errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        if name == "error" && object.get("exit").is_none() {
            faults.push("no exit".to_owned());
        }
        faults
    }
}

fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().unwrap().push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The commands that `--help` lists.
pub fn listed(place: &Workplace) -> BTreeSet<String> {
    let help = place.run(&["--help"]).exits(0).raw_stdout;
    let list = help.split("Global options:").next().unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("  "));
    names
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

fn stage() -> Workplace {
    let place = Workplace::new();
    place.write("plan.yaml", PLAN);
    place.write("bad.yaml", PLAN.replace("shop.orders", "shop.nothing"));
    let foreign = "steps:\n  - { step_id: one, tool: shop.orders, inputs: { customer: ada } }\n";
    place.write("foreign.yaml", foreign);
    place.write("passphrase", "four words are enough\n");
    place
}

#[test]
fn every_command_prints_one_object_of_its_schema_whatever_comes() {
    let place = stage();
    let published = Published::of(&place);
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    let (mut run, mut card, mut asked) = (String::new(), String::new(), String::new());
    for row in ROWS.lines().filter(|row| !row.is_empty()) {
        let mut parts = words(row).into_iter();
        let (name, code) = (parts.next().unwrap(), parts.next().unwrap());
        let args: Vec<String> = parts
            .map(|word| match word.as_str() {
                "RUN" => run.clone(),
                "RUN@CARD" => format!("{run}@{card}"),
                "ASKED" => asked.clone(),
                _ => word,
            })
            .collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let verb = if args[0] == "-C" { args[2] } else { args[0] };
        seen.insert(verb.to_owned());
        let ran = place.run(&args);
        let object = match one_object(&ran.raw_stdout) {
            Ok(object) => object,
            Err(why) => {
                faults.push(format!("{row}: {why}\n{ran}"));
                continue;
            }
        };
        // Why two: the form of these has changed once.
        let version = if ["trace", "why"].contains(&name.as_str()) {
            2
        } else {
            1
        };
        let schema = format!("provost/{name}/v{version}");
        if object["schema"] != schema.as_str() || (code != "-" && ran.code != code.parse().ok()) {
            faults.push(format!("{row}\n{ran}"));
        }
        for fault in published.faults(&name, &object) {
            faults.push(format!("{row}: {fault}"));
        }
        if name == "error" && object["exit"].as_i64() != ran.code.map(i64::from) {
            faults.push(format!("{row}: another exit\n{ran}"));
        }
        let id = object["id"].as_str().unwrap_or_default().to_owned();
        match row {
            _ if row.contains("\"Ask whose") => asked = id,
            _ if row.contains("\"Note the") => {
                let digest = object
                    .pointer("/waiting_for/digest")
                    .and_then(Value::as_str);
                card = digest.unwrap_or_default().replace("sha256:", "");
                run = id;
            }
            _ => {}
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));

    // A command without rows is found, and so is one that is gone.
    let mut all = listed(&place);
    all.retain(|verb| !NO_OBJECT.contains(&verb.as_str()));
    assert_eq!(seen, all);
}

#[test]
fn what_cannot_be_parsed_is_one_object_too() {
    let place = Workplace::empty();
    let published = Published::of(&place);
    for verb in listed(&place) {
        let ran = place.run(&[&verb, "--json", "--no-such-option"]).exits(2);
        let object = one_object(&ran.raw_stdout).unwrap_or_else(|why| panic!("{why}: {ran}"));
        assert_eq!(published.faults("error", &object), [""; 0], "{ran}");
        assert!(
            !object["error"].as_str().unwrap().contains("error:"),
            "{ran}"
        );
    }
    let ran = place.run(&["aprove", "--json"]).exits(2);
    let object = one_object(&ran.raw_stdout).unwrap();
    assert_eq!(object["error"], "unrecognized subcommand 'aprove'");
    assert!(
        object["hint"].as_str().unwrap().contains("'approve'"),
        "{ran}"
    );
    // Without `--json` nothing is printed on stdout, and after `--` it is no option.
    assert_eq!(place.run(&["aprove"]).exits(2).raw_stdout, "");
    assert_eq!(
        place.run(&["aprove", "--", "--json"]).exits(2).raw_stdout,
        ""
    );
}

/// The controls: an extra line, a field that is gone and one of another type are found.
#[test]
fn what_breaks_the_promise_is_found() {
    let place = stage();
    let published = Published::of(&place);
    let ran = place.run(&["runs", "--json"]).exits(0);
    let object = one_object(&ran.raw_stdout).unwrap();
    assert_eq!(published.faults("runs", &object), [""; 0]);
    assert!(one_object(&format!("{}note\n", ran.raw_stdout)).is_err());
    assert!(one_object("").is_err());
    let mut other = object.clone();
    other["runs"] = Value::Null;
    assert_eq!(published.faults("runs", &other).len(), 1);
    other.as_object_mut().unwrap().remove("runs");
    assert_eq!(published.faults("runs", &other).len(), 1);
    assert_eq!(published.faults("inbox", &object).len(), 3);
    assert_eq!(published.faults("none", &object).len(), 1);
}

#[test]
fn the_version_names_what_it_reads_and_writes() {
    let place = Workplace::empty();
    let published = Published::of(&place);
    let object = place.json(&["--version", "--json"]);
    assert_eq!(published.faults("version", &object), [""; 0]);
    assert!(object["journal_format"].as_i64().unwrap() >= 10);
    let text = place.run(&["--version"]).exits(0).raw_stdout;
    let version = object["version"].as_str().unwrap();
    assert!(text.starts_with(&format!("provost {version}")), "{text}");
}
