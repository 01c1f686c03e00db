//! A model as a step of a plan: what it says is worked with, paid for, and never believed.

use sim::model::{Local, Scripted};

use crate::place::{KEY, says_the_truth};
use crate::stage::Stage;
use sim::incident::{Variant, generate};

const WRITER: &str = r#"
[models.large]
kind = "openai"
model = "scripted-1"
key = "env:SCRIPTED_KEY"
base_url = "URL"
price = { input = "2.00", output = "10.00", cached = "0.20" }

[tools.writer]
kind = "model"
model = "large"
[tools.writer.ops.cause]
does = "generate"
instructions = "Say in one sentence what the likely cause is."
input = { type = "object", properties = { evidence = { type = "string" } }, required = ["evidence"] }
max_tokens = 300
[tools.writer.ops.worth_a_note]
does = "judge"
criterion = "The finding is worth a note."
input = { type = "object", properties = { evidence = { type = "string" } }, required = ["evidence"] }

[tools.notes]
kind = "files"
root = "notes"
[tools.notes.ops.write]
op = "write"
effect = "write"
"#;

const STEP: &str = r#"
    - id: likely_cause
      description: Write in one sentence what the likely cause is
      tool: writer.cause
      when: ${ steps.deployment.status == "succeeded" }
      args:
        evidence: >-
          rise ${ json(steps.rise.output.row) }
          deployment ${ json(steps.deployment.output.row) }

    - id: deployed_within
"#;

const CLAIM: &str = r#"
    - when: ${ steps.likely_cause.status == "succeeded" }
      text: "Likely cause, as a model puts it: ${ steps.likely_cause.output.text }"

    - when: ${ steps.symptoms.status == "succeeded" }
"#;

const SENTENCE: &str = "The deployment exhausted the pool of connections.";

struct Place {
    stage: Stage,
    model: Local,
}

impl Place {
    fn new(script: impl IntoIterator<Item = Scripted>) -> Self {
        let stage = Stage::of("incident", false);
        generate(&Variant::base())
            .unwrap()
            .write(&stage.data())
            .unwrap();
        std::fs::create_dir(stage.path().join("notes")).unwrap();
        let model = Local::start(script).unwrap();
        let tools = WRITER.replace("URL", &model.url());
        stage.edit("provost.toml", |text| text + &tools);
        Self { stage, model }
    }

    /// With the step in the playbook of the incident.
    fn of_incident(script: impl IntoIterator<Item = Scripted>) -> Self {
        let place = Self::new(script);
        place.stage.edit("playbooks/latency.yaml", |text| {
            let last = CLAIM.trim_start_matches('\n');
            let (_, guard) = last.split_once("\n\n").unwrap();
            text.replacen(
                "    - id: deployed_within\n",
                STEP.trim_start_matches('\n'),
                1,
            )
            .replacen(guard, last, 1)
        });
        place
    }

    fn run(&self, args: &[&str]) -> crate::stage::Ran {
        let mut command = self.stage.command(args);
        let output = command.env("SCRIPTED_KEY", KEY).output();
        crate::stage::Ran::from(output.unwrap())
    }

    fn write(&self, plan: &str) -> String {
        let path = self.stage.path().join("plan.yaml");
        std::fs::write(&path, plan).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn goal() -> String {
        generate(&Variant::base()).unwrap().goal
    }

    fn asked(&self) -> usize {
        self.model.model().ledger().len()
    }
}

fn says(sentence: &str) -> Scripted {
    Scripted::json(serde_json::json!({ "text": sentence }))
}

fn judges(verdict: &str) -> Scripted {
    Scripted::json(serde_json::json!({ "reason": "It is.", "verdict": verdict }))
}

#[test]
fn the_likely_cause_is_summarised_as_a_step_of_the_incident() {
    let place = Place::of_incident([says(SENTENCE)]);
    let ran = place.run(&["run", &Place::goal()]).exits(0);
    says_the_truth(&ran.stdout, &generate(&Variant::base()).unwrap().truth);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    // Marked as somebody else's words, like any other text of a tool.
    assert!(flat.contains(&format!("puts it: ‹{SENTENCE}›")), "{flat}");
    assert_eq!(place.asked(), 1);
    let sent = place.model.model().ledger()[0].body.to_string();
    assert!(sent.contains("Say in one sentence"), "{sent}");
    assert!(sent.contains("rose_at"), "{sent}");
    assert!(!sent.contains(KEY), "the key is in no prompt");

    let ended = place.stage.payloads("AttemptEnded");
    let used: Vec<_> = ended.iter().filter_map(|ended| ended.get("used")).collect();
    assert_eq!(used.len(), 1);
    let record = serde_json::json!({
        "model": "scripted-1", "prompt": "tool.v1",
        "tokens_in": 1000, "tokens_cached": 600, "tokens_out": 200, "cost": "0.00292",
    });
    assert_eq!(used[0], &record);
    let run = place.stage.only_run().unwrap();
    let trace = place.run(&["trace", &run, "--execution"]).exits(0).stdout;
    let flat = trace.split_whitespace().collect::<Vec<_>>().join(" ");
    let took = "1000 tokens in (600 cached), 200 out, cost 0.00292, prompt tool.v1, \
                model: scripted-1";
    assert!(flat.contains(took), "{trace}");
    assert!(!format!("{ended:?}{trace}").contains(KEY));
}

/// A model that is away, cuts off or babbles is a class of failure; the machine asks again where
/// that may help, and the adapter never does.
#[test]
fn a_model_that_does_not_answer_well_fails_its_step() {
    for (script, asked, said) in [
        (vec![Scripted::status(429), says(SENTENCE)], 2, "puts it"),
        (vec![Scripted::text("certainly!")], 1, "output_invalid"),
        (vec![Scripted::status(401)], 1, "permission_denied"),
    ] {
        let place = Place::of_incident(script);
        let ran = place.run(&["run", &Place::goal()]);
        assert_eq!(place.asked(), asked, "{}", ran.all());
        let flat = ran.all().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(said), "{said}\n{flat}");
    }
}

fn plan(guard: &str, accept: &str) -> String {
    format!(
        r#"schema: provost/plan/v1
goal: {{ text: Note the service, success: [ {{ id: noted, text: a note is written }} ] }}
steps:
  - id: service
    description: Find the service
    tool: metrics.service
    args: {{ name: Payment API }}
  - id: judge
    description: Judge whether that is worth a note
    tool: writer.worth_a_note
    args: {{ evidence: "${{ json(steps.service.output.row) }}" }}
{accept}
  - id: note
    description: Write the note down
    tool: notes.write
{guard}
    args: {{ path: note.txt, text: somebody looked }}
    accept: [ "${{ output.bytes > 0 }}" ]
success:
  - {{ for: noted, check: '${{ steps.note.status == "succeeded" }}' }}
answer:
  - {{ text: done, cites: [note] }}
"#
    )
}

/// However closed the words of a verdict are: no write begins by one without a person.
#[test]
fn a_judge_never_opens_a_write() {
    let by_verdict = r#"    when: ${ steps.judge.output.verdict == "holds" }"#;
    let accepted = r#"    accept: [ "${ output.verdict == 'holds' }" ]"#;
    let on_failure = "    on_failure: continue";
    let by_status = r#"    when: ${ steps.judge.status == "succeeded" }"#;
    let by_data = "    needs: [judge]\n    when: ${ steps.service.status == \"succeeded\" }";
    for (guard, accept, asks) in [
        (by_verdict, "", true),
        ("    needs: [judge]", accepted, true),
        (by_status, &format!("{on_failure}\n{accepted}"), true),
        // The controls: what stands beside a step decides nothing about it.
        ("    needs: [judge]", "", false),
        (by_data, "", false),
    ] {
        let place = Place::new([judges("holds")]);
        let plan = plan(guard, accept);
        let file = place.write(&plan);
        let ran = place.run(&["apply", &file]);
        assert_eq!(
            ran.code,
            Some(if asks { 3 } else { 0 }),
            "{plan}\n{}",
            ran.all()
        );
        assert_eq!(
            place.stage.path().join("notes/note.txt").exists(),
            !asks,
            "{plan}"
        );
        if asks {
            let flat = ran.all().split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains("judge"), "{flat}");
        }
    }
}

/// The control of the step above it: what a model said is no acceptance of a write.
#[test]
fn what_a_model_said_is_no_acceptance() {
    let place = Place::new([]);
    let plan = plan("", "").replace(
        "${ output.bytes > 0 }",
        "${ steps.judge.output.verdict == 'holds' }",
    );
    let ran = place.run(&["check", &place.write(&plan)]);
    assert!(
        ran.all().contains("nothing says when it has worked"),
        "{}",
        ran.all()
    );
}

#[test]
fn the_worst_case_of_an_answer_counts_before_it_is_asked() {
    let place = Place::of_incident([says(SENTENCE)]);
    place.stage.edit("provost.toml", |text| {
        text + "\n[limits]\nmoney = \"0.005\"\n"
    });
    let ran = place.run(&["run", &Place::goal()]).exits(1);
    assert_eq!(place.asked(), 0, "{}", ran.all());
    assert!(ran.all().contains("B506"), "{}", ran.all());
}
