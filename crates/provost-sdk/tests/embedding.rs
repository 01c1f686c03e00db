//! Programs that embed provost: what they are asked, what an error of a tool means, letting go.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use provost_engine::keys::PrivateKey;
use provost_sdk::{Call, Effect, Error, Next, OwnTool, Signer, ToolError, Workspace, tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

fn plan(step: &str) -> String {
    format!(
        "schema: provost/plan/v1\ngoal: {{ text: Say it }}\nsteps:\n{step}\nsuccess:\n  \
         - {{ for: goal, check: '${{ steps.say.status == \"succeeded\" }}' }}\n\
         answer:\n  - {{ text: It is said., cites: [say] }}\n"
    )
}

fn say() -> String {
    plan("  - { id: say, tool: own.say, args: { text: hello }, retry: { attempts: 1 } }")
}

/// How a tool comes out.
#[derive(Clone, Copy, Debug)]
enum Comes {
    Well,
    Error,
    Panic,
    Nothing,
}

fn own(effect: Effect, comes: Comes, calls: &Arc<AtomicU32>) -> OwnTool {
    let calls = Arc::clone(calls);
    tool("own.say", effect, move |call: Call<Text>| {
        calls.fetch_add(1, Ordering::Relaxed);
        async move {
            match comes {
                Comes::Well => Ok(call.args.text.len()),
                Comes::Error => Err(std::io::Error::other("the line went dead"))?,
                Comes::Panic => panic!("a bug"),
                Comes::Nothing => Err(ToolError::nothing_happened("nobody is there")),
            }
        }
    })
}

fn ws(tool: OwnTool) -> Workspace {
    Workspace::in_memory()
        .user("ada")
        .tool(tool)
        .build()
        .unwrap()
}

/// Drives a run to what it comes to, with a yes to each card.
async fn driven(ws: &Workspace, plan: &str) -> (String, Vec<String>) {
    let mut run = ws.apply(plan).await.unwrap();
    let mut asked = Vec::new();
    let end = loop {
        match run.next().await.unwrap() {
            Next::Approval(card) => {
                asked.push(card.to_string());
                run.approve(&card, "ada").await.unwrap();
            }
            Next::Question(question) => {
                asked.push(question.to_string());
                run.answer(&question, "PAY").await.unwrap();
            }
            Next::InDoubt(doubt) => break format!("in doubt: {}", doubt.steps.join(", ")),
            Next::Paused(why) | Next::Until(why) => break why.text,
            Next::Ended(outcome) => break outcome.status.to_string(),
        }
    };
    (end, asked)
}

#[tokio::test]
async fn an_error_of_anything_but_a_read_is_unknown() {
    for (effect, comes, wanted) in [
        (Effect::External, Comes::Well, "succeeded"),
        (Effect::External, Comes::Error, "in doubt: say"),
        (Effect::External, Comes::Panic, "in doubt: say"),
        (Effect::External, Comes::Nothing, "failed"),
        (Effect::Write, Comes::Error, "in doubt: say"),
        (Effect::Read, Comes::Error, "failed"),
        (Effect::Read, Comes::Panic, "failed"),
    ] {
        let calls = Arc::default();
        let (end, _) = driven(&ws(own(effect, comes, &calls)), &say()).await;
        assert_eq!(end, wanted, "{effect:?} {comes:?}");
        assert_eq!(calls.load(Ordering::Relaxed), 1, "{effect:?} {comes:?}");
    }
}

#[tokio::test]
async fn what_recognises_repetitions_is_tried_again_under_its_key() {
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&keys);
    let own = tool("own.say", Effect::External, move |call: Call<Text>| {
        let mut seen = seen.lock().unwrap();
        seen.push(call.key().to_owned());
        let times = seen.len();
        async move {
            match times {
                1 => Err(std::io::Error::other("the line went dead"))?,
                _ => Ok(call.args.text),
            }
        }
    });
    let step = "  - { id: say, tool: own.say, args: { text: hello } }";
    let ws = ws(own.recognises_repetitions(Duration::from_secs(86_400)));
    let (end, _) = driven(&ws, &plan(step)).await;
    assert_eq!(end, "succeeded");
    let keys = keys.lock().unwrap();
    assert!(
        matches!(keys.as_slice(), [one, two] if one == two && !one.is_empty()),
        "{keys:?}"
    );
}

#[tokio::test]
async fn a_card_says_what_is_asked_and_a_no_calls_nothing() {
    let calls = Arc::default();
    let ws = ws(own(Effect::External, Comes::Well, &calls));
    let mut run = ws.apply(&say()).await.unwrap();
    let Next::Approval(card) = run.next().await.unwrap() else {
        panic!("nobody is asked");
    };
    assert_eq!(
        card.to_string(),
        "approve step `say`?\n  own.say (external)\n  text = \"hello\"\n  \
         for the goal: Say it\n  requested by ada"
    );
    assert_eq!(card.steps(), ["say"]);
    run.reject(&card, "ada", "too loud").await.unwrap();
    let Next::Ended(outcome) = run.next().await.unwrap() else {
        panic!("it goes on");
    };
    assert_eq!(
        (outcome.status.word(), outcome.status.is_success()),
        ("rejected", false)
    );
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn where_signatures_are_required_a_key_approves() {
    let (key, file) = PrivateKey::generate("ada", "secret words").unwrap();
    let people = format!(
        r#"{{"users": {{"ada": {{"groups": [], "key": "{}"}}}}}}"#,
        key.public()
    );
    let calls = Arc::default();
    let ws = Workspace::in_memory()
        .user("ada")
        .file("provost.toml", "[approvals]\nrequire = \"signature\"\n")
        .file("policies/entities.json", people)
        .tool(own(Effect::External, Comes::Well, &calls))
        .build()
        .unwrap();
    let mut run = ws.apply(&say()).await.unwrap();
    let Next::Approval(card) = run.next().await.unwrap() else {
        panic!("nobody is asked");
    };
    // The control: a name alone is not enough.
    let refused = run.approve(&card, "ada").await.unwrap_err().to_string();
    assert!(refused.contains("sign"), "{refused}");
    assert!(Signer::open("ada", &file.to_text(), "other words").is_err());
    let ada = Signer::open("ada", &file.to_text(), "secret words").unwrap();
    run.approve(&card, &ada).await.unwrap();
    assert!(matches!(run.next().await.unwrap(), Next::Ended(_)));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_question_is_answered() {
    let calls = Arc::default();
    let steps = "  - { id: what, question: { text: What?, answer: { type: string } } }\n  \
                 - { id: say, tool: own.say, args: { text: '${ steps.what.output }' } }";
    let (end, asked) = driven(&ws(own(Effect::Read, Comes::Well, &calls)), &plan(steps)).await;
    assert_eq!(
        (end.as_str(), asked.as_slice()),
        ("succeeded", ["What?".to_owned()].as_slice())
    );
}

#[tokio::test]
async fn a_run_that_is_dropped_is_let_go_of() {
    let calls = Arc::default();
    let ws = ws(own(Effect::External, Comes::Well, &calls));
    let mut run = ws.apply(&say()).await.unwrap();
    assert!(matches!(run.next().await.unwrap(), Next::Approval(_)));
    // The control: while it is held, nobody else gets it.
    assert!(ws.runs().unfinished().await.unwrap().is_empty());
    let id = run.id().to_owned();
    drop(run);
    // Why often: whoever took it up before the release arrived lost it again.
    for _ in 0..20 {
        let mut again = ws.runs().unfinished().await.unwrap();
        let mut run = again.pop().unwrap();
        assert_eq!(run.id(), id);
        assert!(matches!(run.next().await.unwrap(), Next::Approval(_)));
    }
    let mut run = ws.runs().unfinished().await.unwrap().pop().unwrap();
    let Next::Approval(card) = run.next().await.unwrap() else {
        panic!("it forgot what it waits for");
    };
    run.approve(&card, "ada").await.unwrap();
    assert!(matches!(run.next().await.unwrap(), Next::Ended(_)));
}

#[tokio::test]
async fn what_cannot_begin_says_why() {
    let calls = Arc::default();
    let ws = ws(own(Effect::Read, Comes::Well, &calls));
    let goal = ws.run("Sing").await.err().unwrap();
    assert!(matches!(goal, Error::Goal(_)), "{goal}");
    let plan = ws
        .apply("schema: provost/plan/v1\nsteps: []\n")
        .await
        .err()
        .unwrap();
    assert!(matches!(plan, Error::Plan(_)), "{plan}");
    let bad = Workspace::in_memory()
        .file("provost.toml", "[tool]\n")
        .build();
    let bad = bad.err().unwrap().to_string();
    assert!(bad.contains("provost.toml"), "{bad}");
}

/// Runs an example of this crate in a directory, and gives what it prints.
fn example(name: &str, dir: &std::path::Path) -> String {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap().join("examples");
    let ran = Command::new(built.join(name))
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn the_examples_run() {
    let dir = tempfile::tempdir().unwrap();
    let printed = example("own_tool", dir.path());
    assert!(printed.contains("to ada: 3 tickets are open"), "{printed}");
    assert!(
        printed.ends_with("succeeded: Ada knows. [tell]\n"),
        "{printed}"
    );
    let ws = dir.path().join("ws");
    provost_engine::workspace::scaffold(&ws, "ada", provost_engine::workspace::Example::Files)
        .unwrap();
    let printed = example("smallest", dir.path());
    assert!(printed.starts_with("succeeded: "), "{printed}");
}

/// The program of the guide is at most thirty lines of code with one import.
#[test]
fn the_program_of_the_readme_is_small() {
    let readme = include_str!("../README.md");
    let program = readme.split("```rust,no_run\n").nth(1).unwrap();
    let program = program.split("```").next().unwrap();
    let main = program.split("\nasync fn deliver").next().unwrap();
    let lines = main.lines().filter(|line| !line.is_empty()).count();
    let imports = main.lines().filter(|line| line.starts_with("use ")).count();
    assert!(
        (lines, imports) <= (30, 1),
        "{lines} lines, {imports} imports"
    );
}
