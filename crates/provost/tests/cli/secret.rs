use insta::assert_snapshot;
use sim::canary::TOKEN;
use sim::world::Local;

use super::pager::pages;
use super::workplace::Workplace;

const PLAN: &str = r#"
schema: provost/plan/v1
goal: { text: Page whoever is on call }
steps:
  - { id: page, tool: pager.notify, args: { message: hello }, approval: required, accept: ['${ output.delivered }'] }
success:
  - { for: goal, check: '${ steps.page.status == "succeeded" }' }
answer: "Paged."
"#;

/// A workspace whose pager is the real service, with a token in a file that is not there yet.
fn place(world: &Local) -> Workplace {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write(
        "provost.toml",
        format!(
            r#"{config}
[tools.pager]
kind = "http"
base_url = "{}"
auth = {{ bearer = "file:pager.canary" }}
[tools.pager.ops.notify]
request = {{ method = "POST", path = "/pages", body = {{ message = "${{ args.message }}" }} }}
input = {{ type = "object", properties = {{ message = {{ type = "string" }} }}, required = ["message"] }}
output = {{ type = "object", properties = {{ delivered = {{ type = "boolean" }} }}, required = ["delivered"] }}
effect = "write"
"#,
            world.url()
        ),
    );
    place.write("page.yaml", PLAN);
    place
}

#[test]
fn a_missing_secret_pauses_the_run_and_is_named() {
    let state = tempfile::tempdir().unwrap();
    let world = Local::start(&state.path().join("world.json")).unwrap();
    let place = place(&world);
    place.run(&["apply", "page.yaml"]).exits(2);
    place.write("pager.canary", TOKEN);
    place.run(&["apply", "page.yaml"]).exits(3);
    let (run, digest) = place.card();
    std::fs::remove_file(place.path("pager.canary")).unwrap();
    assert_snapshot!(place.run(&["approve", &format!("{run}@{digest}")]), @r"
    exit 3
    --- stdout
    paused: the secret file:pager.canary of tool `pager` is missing: it cannot be read: No such file or directory (os error 2)
    resume: provost resume RUN
      (once the secret is set)
    --- stderr
    run RUN: resumed
    approved by ada
    page: calls pager.notify
    paused, the secret file:pager.canary of tool `pager` is missing: it cannot be read: No such file or directory (os error 2)
    ");
    assert_eq!(place.status(), "paused");
    assert_snapshot!(place.run(&["show", &run]), @r#"
    exit 0
    --- stdout
    run RUN: paused
      goal       Page whoever is on call
      asked      by ada at MOMENT
      plan       revision 1
      solo       the requester may also approve

    paused: the secret file:pager.canary of tool `pager` is missing: it cannot be read: No such file or directory (os error 2)
    happened: no write
    may have happened: no write
    did not start:
      page  pager.notify  message="hello"    tried, without effect
    next: provost resume RUN
      any person of this workspace, once the secret is set

      page  pager.notify  write  running

    said by people
      MOMENT  ada  page: approved by ada
    "#);
    assert_snapshot!(place.run(&["inbox"]), @"
    exit 0
    --- stdout
    paused: the secret file:pager.canary of tool `pager` is missing: it cannot be read: No such file or directory (os error 2)
    resume: provost resume RUN
      (once the secret is set)
    ");
    let why = place.run(&["why", &run]).exits(0);
    let waits = "the run is not over: it waits for a secret";
    assert!(why.stdout.contains(waits), "{why}");
    place.run(&["inbox", "--check"]).exits(3);
    place.run(&["work", "--until-idle"]).exits(0);
    assert_eq!(place.status(), "paused");
    place.run(&["resume", &run]).exits(3);
    assert_eq!(pages(&world), 0);
    place.write("pager.canary", TOKEN);
    assert_snapshot!(place.run(&["resume", &run]), @r"
    exit 0
    --- stdout
    succeeded: Page whoever is on call

    Paged. (unsupported)

    proven: Page whoever is on call
    --- stderr
    run RUN: resumed
    run RUN: resumed by ada
    page: calls pager.notify, attempt 3
    page: succeeded after TIME
    ");
    assert_eq!(pages(&world), 1);
    let trace = place.run(&["trace", &run, "--json"]);
    assert!(!format!("{}{}", trace.stdout, trace.stderr).contains(TOKEN));
}

#[test]
fn whoever_is_told_of_what_waits_is_told_of_a_missing_secret() {
    let state = tempfile::tempdir().unwrap();
    let world = Local::start(&state.path().join("world.json")).unwrap();
    let place = place(&world);
    super::notify::tell(&place, "on = [\"waiting\"]\nremind = \"1h\"");
    place.write("pager.canary", TOKEN);
    place.run(&["apply", "page.yaml"]).exits(3);
    let (run, digest) = place.card();
    std::fs::remove_file(place.path("pager.canary")).unwrap();
    place.run(&["approve", &format!("{run}@{digest}")]).exits(3);
    place.run(&["work", "--until-idle"]).exits(0);
    let of_secret = || {
        let told = super::notify::told(&place).into_iter();
        let secret = told.filter(|event| event["data"]["about"]["kind"] == "secret");
        secret
            .map(|event| event["data"].clone())
            .collect::<Vec<_>>()
    };
    let told = of_secret();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        told[0]["text"],
        "paused, the secret file:pager.canary of tool `pager` is missing: it cannot be read: \
         No such file or directory (os error 2)"
    );
    assert_eq!(told[0]["command"], format!("provost resume {run}"));
    super::notify::time_passes(&place);
    place.run(&["work", "--until-idle"]).exits(0);
    assert_eq!(of_secret().len(), 2, "reminded while it is missing");
    place.write("pager.canary", TOKEN);
    place.run(&["resume", &run]).exits(0);
    super::notify::time_passes(&place);
    place.run(&["work", "--until-idle"]).exits(0);
    assert_eq!(of_secret().len(), 2, "not once it is there");
}

/// Answers everything with an error whose body is cut where it repeats the secret.
fn repeats_the_secret(listener: &std::net::TcpListener) {
    use std::io::{Read as _, Write as _};
    const KEPT: usize = 64 * 1024;
    let body = format!("{}{TOKEN}", "x".repeat(KEPT + 1 - TOKEN.len()));
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let head = "HTTP/1.1 500 Broken\r\nContent-Type: text/plain\r\nConnection: close\r\n";
        // Why ignored: who has read enough need not read on.
        let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
    }
}

/// Whether some file below a folder holds these bytes.
fn is_below(dir: &std::path::Path, wanted: &[u8]) -> bool {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    let holds = |path: &std::path::Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(wanted.len()).any(|window| window == wanted)
    };
    entries
        .map(|entry| entry.path())
        .any(|path| match path.is_dir() {
            true => is_below(&path, wanted),
            false => !path.ends_with("pager.canary") && holds(&path),
        })
}

#[test]
fn a_secret_that_is_cut_short_leaves_nothing_behind() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || repeats_the_secret(&listener));
    let place = Workplace::new();
    std::fs::remove_file(place.path(sim::canary::TOKEN_FILE)).unwrap();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let tool = format!(
        r#"
[tools.echo]
kind = "http"
base_url = "{url}"
auth = {{ bearer = "file:pager.canary" }}
[tools.echo.ops.look]
request = {{ method = "GET", path = "/" }}
input = {{ type = "object", properties = {{}}, additionalProperties = false }}
effect = "read"
"#
    );
    place.write("provost.toml", format!("{config}{tool}"));
    place.write("pager.canary", TOKEN);
    place.run(&["tools", "call", "echo.look"]).exits(1);
    let most = TOKEN.get(..TOKEN.len() - 1).unwrap();
    assert!(
        !is_below(&place.path(""), most.as_bytes()),
        "it lacks one character"
    );
    let some = TOKEN.get(..8).unwrap();
    assert!(
        !is_below(&place.path(""), some.as_bytes()),
        "its beginning is there"
    );
    // The control: what stood before it is.
    assert!(is_below(&place.path(""), &[b'x'; 1000]));
}

/// That no file of the workspace has it is judged as the workspace is dropped. The control is the
/// same words without the secret, and the same words where nobody has set it.
#[test]
fn words_with_the_value_of_a_secret_are_refused_before_they_are_kept() {
    let state = tempfile::tempdir().unwrap();
    let world = Local::start(&state.path().join("world.json")).unwrap();
    let place = place(&world);
    place.write("pager.canary", TOKEN);
    let refused = |args: &[&str]| {
        let ran = place.run(args).exits(2);
        let said = format!("{ran}");
        assert!(
            said.contains("holds the value of a secret"),
            "{args:?}: {ran}"
        );
        assert!(!said.contains(TOKEN), "{args:?}: {ran}");
    };
    refused(&["run", &format!("Note the orders of {TOKEN}")]);
    place.run(&["run", "Ask whose orders count"]).exits(3);
    let (run, card) = place.card();
    let asked = format!("{run}@{card}");
    refused(&["answer", &asked, TOKEN]);
    refused(&["cancel", &run, "--reason", &format!("it is {TOKEN}")]);
    refused(&[
        "amend",
        &run,
        "--goal",
        &format!("Count the orders of {TOKEN}"),
    ]);
    assert_eq!(place.status(), "waiting_answer");
    place.run(&["answer", &asked, "grace"]).exits(0);
    // A plan that somebody hands in, as it is and with a letter of the secret as its number.
    let (first, rest) = TOKEN.split_at(1);
    let escaped = format!("\\u{:04x}{rest}", u32::from(first.chars().next().unwrap()));
    for (words, exit) in [(TOKEN, 2), (&escaped, 2), ("nobody", 0)] {
        let plan = super::workplace::PLAN;
        let plan = plan.replacen(" orders.", &format!(" orders of {words}."), 1);
        place.write("plan.yaml", plan);
        let ran = place.run(&["apply", "plan.yaml", "--again"]).exits(exit);
        let is_told = ran.stderr.contains("holds the value of a secret");
        assert_eq!(is_told, exit == 2, "{ran}");
        assert!(!format!("{ran}").contains(TOKEN), "{ran}");
        std::fs::remove_file(place.path("plan.yaml")).unwrap();
    }
}
