//! Opening a workspace: everything that is wrong is said at once, at its place.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use provost_engine::workspace::{
    Example, Findings, LockUse, Opening, Workspace, WorkspaceError, scaffold,
};
use provost_plan::check::{CheckedPlan, Draft, Origin, RevisionBase, Terms, check};
use provost_plan::money::Money;
use provost_plan::plan::read::read_plan;
use provost_plan::plan::request::{ObservationView, PlanReply, PlanRequest, RequestKind, Why};
use provost_plan::source::Source;
use provost_planner::Route;
use provost_run::event::PlannerChoice;
use serde_json::json;

mod entry;
mod goals;
mod laborious;
mod own;
mod playbooks;
mod running;

const OPENING: Opening<'_> = Opening {
    user: "ada",
    lock: LockUse::Hold,
};

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// What is found in a workspace of these files: `FILE LINE:COLUMN CODE MESSAGE (HINT)`.
fn found(files: &[(&str, &str)]) -> String {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), files);
    findings(dir.path())
}

fn findings(dir: &Path) -> String {
    let (mut text, findings) = match Workspace::open(dir, &OPENING) {
        Ok(workspace) if workspace.damaged().is_empty() => return "nothing\n".to_owned(),
        Ok(workspace) => {
            let damaged = workspace.damaged();
            let names: Vec<&str> = damaged.iter().map(|one| one.tool.as_str()).collect();
            let findings: Vec<Findings> = damaged.iter().map(|one| one.findings.clone()).collect();
            (format!("left out: {}\n", names.join(", ")), findings)
        }
        Err(error) => {
            assert!(matches!(error, WorkspaceError::Refused { .. }), "{error}");
            (format!("{error}\n"), error.findings().to_vec())
        }
    };
    for one in &findings {
        for finding in &one.diagnostics {
            let (line, column) = one.source.position(finding.span.start);
            let name = &one.source.name;
            text.push_str(&format!(
                "{name} {line}:{column} {} {}",
                finding.code, finding.message
            ));
            if let Some(hint) = &finding.hint {
                text.push_str(&format!(" ({hint})"));
            }
            text.push('\n');
        }
    }
    text
}

const NOTES: &str = "[tools.notes]\nkind = \"files\"\nroot = \"notes\"\n";

#[test]
fn the_nearest_parent_is_found() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[("a/provost.toml", ""), ("a/b/c/x", ""), ("d/x", "")],
    );
    let find = |name: &str| Workspace::find(&dir.path().join(name));
    assert_eq!(find("a/b/c").unwrap(), dir.path().join("a"));
    assert_eq!(find("a").unwrap(), dir.path().join("a"));
    let error = find("d").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("there is no workspace at or above "),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("make a workspace here"));
    let error = Workspace::open(&dir.path().join("d"), &OPENING).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("is no workspace: it has no provost.toml"),
        "{error}"
    );
}

#[test]
fn an_empty_workspace_has_the_defaults() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("provost.toml", "")]);
    let workspace = Workspace::open(dir.path(), &OPENING).unwrap();
    assert_eq!(workspace.limits(), &provost_plan::plan::Limits::default());
    assert_eq!(workspace.user().id, "ada");
    assert_eq!(workspace.catalog().iter().count(), 0);
    assert_eq!(workspace.store_dir(), dir.path().join(".provost"));
    let not_checked = workspace.not_checked().join("\n");
    assert!(
        not_checked.contains("there is no provost.lock"),
        "{not_checked}"
    );
    assert!(
        not_checked.contains("the default policy decides"),
        "{not_checked}"
    );
}

#[test]
fn every_setting_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let config = format!(
        "[workspace]\nuser = \"bo\"\ndescription = \"d\"\n[limits]\nsteps = 7\nwall = \"5m\"\n\
         [approvals]\nask = \"plan\"\n[planner]\nplaybooks = \"plans/of/ours\"\n{NOTES}"
    );
    let playbook = "schema: provost/playbook/v1\nmatch: Look\nplan: { steps: [] }\n";
    write(
        dir.path(),
        &[
            ("provost.toml", &config),
            ("plans/of/ours/look.yaml", playbook),
            ("plans/of/ours/.look.yaml.swp.yaml", "no"),
            ("plans/of/ours/README.md", "no"),
        ],
    );
    let workspace = Workspace::open(dir.path(), &OPENING).unwrap();
    assert_eq!(workspace.user().id, "bo");
    assert_eq!(workspace.description(), Some("d"));
    assert_eq!(
        (workspace.limits().steps, workspace.limits().wall_ms),
        (7, 300_000)
    );
    assert_eq!(workspace.ask(), provost_run::event::AskMode::Plan);
    assert!(workspace.playbooks().get("look").is_some());
    assert!(workspace.catalog().get("notes.read").is_some());
    let choice = |name: &str| PlannerChoice::Playbook {
        name: name.to_owned(),
    };
    assert!(workspace.planner(&choice("look")).is_ok());
    assert!(workspace.planner(&choice("other")).is_err());
}

#[test]
fn a_proxy_that_cannot_be_is_refused() {
    let network = |text: &str| found(&[("provost.toml", &format!("[network]\n{text}\n"))]);
    let texts = [
        "direct = [\"https://a.example.com\"]",
        "proxy = \"https://p.example.com:3128\"",
        "proxy = \"http://ada:open-sesame@p.example.com\"",
        "proxy = \"http://p.example.com\"\nuser = \"ada\"",
        "proxy = \"http://p.example.com\"\nuser = \"ada\"\npassword = \"open-sesame\"",
    ];
    let said: Vec<String> = texts.into_iter().map(network).collect();
    assert!(!said.concat().contains("sesame"));
    insta::assert_snapshot!(said.join("\n"), @"
    the workspace cannot be used: 2 findings in provost.toml
    provost.toml 1:1 P005 `[network]` needs the field `proxy`
    provost.toml 2:11 W801 `https://a.example.com` names no host: write `api.example.com`, or `.example.com` for all below it

    the workspace cannot be used: one finding in provost.toml
    provost.toml 2:9 W801 `https://p.example.com:3128/` cannot be a base URL: a proxy is reached over `http`

    the workspace cannot be used: one finding in provost.toml
    provost.toml 2:9 W801 `…` cannot be a base URL: it holds a user or a password; name them in `auth`

    the workspace cannot be used: one finding in provost.toml
    provost.toml 3:8 W801 `user` and `password` of a proxy go together

    the workspace cannot be used: one finding in provost.toml
    provost.toml 4:12 W801 a secret is named by `env:NAME` or `file:PATH`, never written out
    ");
}

#[test]
fn a_planner_that_cannot_be_is_refused() {
    let models = "[models.large]\nkind = \"opanai\"\nmodel = \"\"\nkey = \"sk-0123456789\"\n\
                  base_url = \"ftp://x\"\nschema_form = \"json\"\ntemperature = -1\n\
                  max_tokens = 0\ntimeout = \"0s\"\nprice = { input = \"1\", outputs = \"2\" }\n\
                  [models.small]\nkind = \"anthropic\"\nmodel = \"m\"\nstream = true\n\
                  [models.tiny]\nkind = \"openai\"\nmodel = \"m\"\n";
    let planner = |text: &str| format!("{models}[planner]\n{text}");
    insta::assert_snapshot!(found(&[("provost.toml", &planner("kind = \"model\"\nmodel = \"tina\"\ncommand = [\"x\"]\n"))]), @r#"
    the workspace cannot be used: 14 findings in provost.toml
    provost.toml 2:8 P006 `kind` must be one of `openai`, `anthropic`, `gemini` (did you mean `openai`?)
    provost.toml 3:9 W801 `model` is empty
    provost.toml 4:7 W801 a secret is named by `env:NAME` or `file:PATH`, never written out
    provost.toml 5:12 W801 `ftp://x` cannot be a base URL: the scheme must be `http` or `https`
    provost.toml 6:15 P006 `schema_form` must be one of `json_schema`, `json_object`, `tool`, `prompt`
    provost.toml 7:15 W801 `temperature` is a number, zero or more
    provost.toml 8:14 W801 `max_tokens` must be from 1 to 4294967295
    provost.toml 9:11 W801 `timeout` must be longer than nothing
    provost.toml 10:9 P005 `price` needs the field `output`
    provost.toml 10:24 P004 `price` has no field `outputs` (did you mean `output`?)
    provost.toml 11:1 W801 the model has no `key`: name it, such as `key = "env:NAME_OF_IT"`
    provost.toml 14:1 P004 a model has no field `stream` (the fields are `base_url`, `key`, `kind`, `max_tokens`, `model`, `price`, `private`, `schema_form`, `seed`, `temperature`, `timeout`)
    provost.toml 20:9 W801 there is no `[models.tina]` (the nearest is `tiny`)
    provost.toml 21:1 P004 `[planner]` has no field `command` (the fields are `kind`, `model`, `money`, `playbooks`, `view`)
    "#);
    let only = |text: &str| {
        let text = format!("[models.tiny]\nkind = \"openai\"\nmodel = \"m\"\n[planner]\n{text}");
        found(&[("provost.toml", &text)])
    };
    let all = [
        "kind = \"modal\"",
        "kind = \"model\"",
        "kind = \"model\"\nmodel = \"tiny\"\nmoney = \"1.00\"",
        "kind = \"process\"",
        "kind = \"process\"\ncommand = []\nenv = { A = 1 }",
        "model = \"tiny\"",
        "command = [\"x\"]",
        "kind = \"model\"\nmodel = \"tiny\"\nview = \"all\"",
        "view = \"full\"",
    ];
    let said: String = all.iter().map(|text| only(text)).collect();
    insta::assert_snapshot!(said, @r#"
    the workspace cannot be used: one finding in provost.toml
    provost.toml 5:8 P006 `kind` must be one of `model`, `process` (did you mean `model`?)
    the workspace cannot be used: one finding in provost.toml
    provost.toml 4:1 P005 `[planner]` needs the field `model`
    the workspace cannot be used: one finding in provost.toml
    provost.toml 7:9 W801 `money` needs the `price` of `[models.tiny]`
    the workspace cannot be used: one finding in provost.toml
    provost.toml 4:1 P005 `[planner]` needs the field `command`
    the workspace cannot be used: 2 findings in provost.toml
    provost.toml 6:11 W801 `command` is a program and its arguments, such as `["python3", "plan.py"]`
    provost.toml 7:13 W801 a variable is a text
    the workspace cannot be used: one finding in provost.toml
    provost.toml 5:9 W801 `[planner]` has no `kind`: it is `model` or `process`
    the workspace cannot be used: one finding in provost.toml
    provost.toml 5:11 W801 `[planner]` has no `kind`: it is `model` or `process`
    the workspace cannot be used: one finding in provost.toml
    provost.toml 7:8 P006 `view` must be one of `references`, `full`
    the workspace cannot be used: one finding in provost.toml
    provost.toml 5:8 W801 `[planner]` has no `kind`: it is `model` or `process`
    "#);
}

/// A workspace that names nobody is as it was; one that does names who.
#[test]
fn a_planner_is_there_where_it_is_configured() {
    let opened = |config: &str| {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &[("provost.toml", config)]);
        Workspace::open(dir.path(), &OPENING)
            .unwrap()
            .other_planner()
    };
    assert_eq!(opened(""), None);
    assert_eq!(
        opened("[models.a]\nkind = \"openai\"\nmodel = \"m\"\n"),
        None
    );
    let choice = opened(
        "[models.a]\nkind = \"gemini\"\nmodel = \"m\"\nkey = \"env:K\"\nmax_tokens = 5\n\
         price = { input = \"1\", output = \"2\" }\n\
         [planner]\nkind = \"model\"\nmodel = \"a\"\nmoney = \"0.50\"\n",
    );
    let Some(PlannerChoice::Model { name, cost, .. }) = choice else {
        panic!("{choice:?}");
    };
    assert_eq!((name.as_str(), cost.tokens_out), ("a", 5));
    let shown = |money: Option<Money>| money.unwrap().to_string();
    let prices = [cost.input, cost.output, cost.limit].map(shown);
    assert_eq!(prices, ["1.00", "2.00", "0.50"]);
    let choice = opened("[planner]\nkind = \"process\"\ncommand = [\"x\", \"y\"]\n");
    assert_eq!(choice.unwrap().author(), "process x");
}

#[test]
fn all_findings_of_all_files_come_at_once() {
    let config = "[workspace]\nusr = \"x\"\n[limits]\nsteps = 0\nconcurrency = 1000\nwall = \"1 hour\"\n\
                  [approvals]\nask = \"stap\"\n[planner]\nplaybooks = \"../elsewhere\"\n\
                  [models.large]\nkind = \"openai\"\n[tolls.a]\nkind = \"files\"\n";
    insta::assert_snapshot!(found(&[
        ("provost.toml", config),
        ("playbooks/bad.yaml", "schema: provost/playbook/v1\nmatch: Look\n"),
        ("playbooks/a.yaml", "schema: provost/playbook/v1\nmatch: Look\nplan: { steps: [] }"),
        ("playbooks/a.json", "{\"schema\": \"provost/playbook/v1\", \"match\": \"See\", \"plan\": {\"steps\": []}}"),
        ("playbooks/binary.yaml", "a\0b"),
    ]), @r"
    the workspace cannot be used: 11 findings in provost.toml, playbooks/a.yaml, playbooks/bad.yaml, playbooks/binary.yaml
    provost.toml 2:1 P004 `[workspace]` has no field `usr` (did you mean `user`?)
    provost.toml 4:9 W801 `steps` must be from 1 to 1000
    provost.toml 5:15 W801 `concurrency` must be from 1 to 256
    provost.toml 6:8 P006 `1 hour` is not a duration: write a whole number and a unit, such as `500ms`, `30s`, `5m`, `24h` or `7d`
    provost.toml 8:7 P006 `ask` must be one of `step`, `plan` (did you mean `step`?)
    provost.toml 10:13 W801 `playbooks` must name a directory inside the workspace
    provost.toml 11:1 P005 a model needs the field `model`
    provost.toml 13:2 P004 provost.toml has no field `tolls` (did you mean `tools`?)
    playbooks/a.yaml 1:1 W805 a second playbook called `a`: the other is playbooks/a.json (give one of the files another name)
    playbooks/bad.yaml 1:1 P005 a playbook needs the field `plan`
    playbooks/binary.yaml 1:1 P001 the file is not text in UTF-8
    ");
}

/// A limit of what no tool counts would hold nothing back.
#[test]
fn a_limit_of_a_value_names_one_that_a_tool_counts() {
    let with = |limits: &str| {
        format!(
            "[limits]\nvalues = {{ {limits} }}\n[tools.shop]\nkind = \"sql\"\ndatabase = \"a.db\"\n\
             [tools.shop.ops.pay]\nexecute = \"update a set n = n - :n\"\neffect = \"write\"\n\
             values = {{ spend = \"n\" }}\n[tools.shop.ops.pay.input]\ntype = \"object\"\n\
             properties = {{ n = {{ type = \"integer\" }} }}\n"
        )
    };
    insta::assert_snapshot!(found(&[("provost.toml", &with("spent = 5, spend = \"5\""))]), @r"
    the workspace cannot be used: 2 findings in provost.toml
    provost.toml 2:12 R119 no tool counts `spent` (did you mean `spend`?)
    provost.toml 2:31 P006 `spend` must be a number from 0 on, not a text
    ");
}

#[test]
fn a_file_that_is_no_toml_is_reported_beside_the_others() {
    insta::assert_snapshot!(found(&[
        ("provost.toml", "[limits\nsteps = 1"),
        ("playbooks/bad.yaml", ""),
    ]), @r"
    the workspace cannot be used: 2 findings in provost.toml, playbooks/bad.yaml
    provost.toml 1:8 P001 unclosed table, expected `]`
    playbooks/bad.yaml 1:1 P001 the text is empty (a plan begins with `schema: provost/plan/v1`)
    ");
    let large = "# x\n".repeat(300_000);
    insta::assert_snapshot!(found(&[("provost.toml", &large)]), @r"
    the workspace cannot be used: one finding in provost.toml
    provost.toml 1:1 P002 the file has more than the 1048576 bytes allowed
    ");
}

#[test]
fn a_tool_that_is_not_what_the_lock_holds_is_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("provost.toml", NOTES)]);
    let workspace = Workspace::open(dir.path(), &OPENING).unwrap();
    workspace.write_lock().unwrap();
    // The control: what was locked is not found to differ.
    let locked = Workspace::open(dir.path(), &OPENING).unwrap();
    assert!(!locked.not_checked().join("").contains("provost.lock"));

    let changed = format!(
        "{NOTES}timeout = \"1s\"\n[tools.more]\nkind = \"files\"\nroot = \"more\"\n[tools.more.ops.read]\n"
    );
    write(dir.path(), &[("provost.toml", &changed)]);
    insta::assert_snapshot!(findings(dir.path()), @r"
    the workspace cannot be used: 4 findings in provost.toml
    provost.toml 1:1 W806 the tool `notes.list` differs from provost.lock: changed in timeout_ms (check the change; locking the tools again accepts it)
    provost.toml 1:1 W806 the tool `notes.read` differs from provost.lock: changed in timeout_ms (check the change; locking the tools again accepts it)
    provost.toml 1:1 W806 the tool `notes.search` differs from provost.lock: changed in timeout_ms (check the change; locking the tools again accepts it)
    provost.toml 5:1 W806 the tool `more.read` is not in provost.lock (check the change; locking the tools again accepts it)
    ");
    let ignoring = Opening {
        lock: LockUse::Ignore,
        ..OPENING
    };
    Workspace::open(dir.path(), &ignoring)
        .unwrap()
        .write_lock()
        .unwrap();
    assert_eq!(findings(dir.path()), "nothing\n");

    write(
        dir.path(),
        &[("provost.toml", NOTES), ("provost.lock", "digest = 1")],
    );
    insta::assert_snapshot!(findings(dir.path()), @r"
    the workspace cannot be used: 2 findings in provost.lock
    provost.lock 1:1 P005 provost.lock needs the field `schema` (lock the tools again: that writes the file anew)
    provost.lock 1:1 P004 provost.lock has no field `digest` (the fields are `schema`, `servers`, `tools`)
    ");
}

#[test]
fn what_init_writes_opens_and_matches_its_own_goal() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("notes/welcome.md", "mine\n")]);
    let written = scaffold(dir.path(), "ada", Example::Files).unwrap();
    let names: Vec<_> = written
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    assert_eq!(
        names,
        [
            ".gitignore",
            "policies/default.cedar",
            "policies/statements.cedar",
            "policies/solo.cedar",
            "policies/entities.json",
            "playbooks/find.yaml",
            "provost.toml",
        ]
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("notes/welcome.md")).unwrap(),
        "mine\n"
    );
    let workspace = match Workspace::open(dir.path(), &OPENING) {
        Ok(workspace) => workspace,
        Err(_) => panic!("{}", findings(dir.path())),
    };
    assert!(workspace.is_solo());
    let Route::Playbook { playbook, goal } = workspace
        .playbooks()
        .route("find approval in my notes", false)
    else {
        panic!("no playbook");
    };
    assert_eq!(playbook.name(), "find");
    assert_eq!(
        goal.params.get("words"),
        Some(&serde_json::json!("approval"))
    );
    let again = scaffold(dir.path(), "ada", Example::Files).unwrap_err();
    assert!(
        again.to_string().ends_with("is a workspace already"),
        "{again}"
    );
}

/// Whatever `init` writes is a model for others: its plans have no finding at all, as proposed and
/// as revised.
#[test]
fn the_plans_of_what_init_writes_pass_the_check() {
    let dir = tempfile::tempdir().unwrap();
    scaffold(dir.path(), "ada", Example::Files).unwrap();
    let workspace = Workspace::open(dir.path(), &OPENING).unwrap();
    let Route::Playbook { playbook, goal } = workspace
        .playbooks()
        .route("Find approval in my notes", false)
    else {
        panic!("no playbook");
    };
    let terms = Terms {
        catalog: workspace.catalog().clone(),
        policy: workspace.policy().clone(),
        principal: workspace.user().clone(),
        limits: workspace.limits().clone(),
        goal: goal.clone(),
    };
    let mut request = PlanRequest {
        id: 1,
        kind: RequestKind::Propose,
        goal,
        tools: Vec::new(),
        roles: Vec::new(),
        plan: None,
        observations: BTreeMap::new(),
        diagnostics: Vec::new(),
        proposal: None,
        answers: Vec::new(),
        why: None,
        envelope: None,
        mode: None,
        limits: workspace.limits().clone(),
    };
    let first = checked(playbook.propose(&request), &terms, &RevisionBase::default());
    let view = ObservationView {
        status: "succeeded".to_owned(),
        output: Some(json!({ "total": 0 })),
        error: None,
    };
    request.kind = RequestKind::Revise;
    request.plan = Some(first.plan().value.clone());
    request.observations.insert("search".to_owned(), view);
    request.why = Some(Why::Observed {
        step: "search".to_owned(),
    });
    let base = RevisionBase {
        revision: 2,
        previous: Some(&first),
        settled: BTreeSet::from(["search".to_owned()]),
        ..RevisionBase::default()
    };
    let second = checked(playbook.revise(&request), &terms, &base);
    assert!(second.step("everywhere").is_some());
}

fn checked(reply: PlanReply, terms: &Terms, base: &RevisionBase<'_>) -> CheckedPlan {
    let PlanReply::Plan {
        text,
        name,
        author,
        literals,
        control,
        ..
    } = reply
    else {
        panic!("no plan: {reply:?}");
    };
    let plan = read_plan(&Source::new(name, text)).unwrap();
    let origin = Origin {
        author,
        literals,
        control,
    };
    let checked = check(
        Draft {
            plan: plan.into(),
            origin,
        },
        terms,
        base,
    );
    let notes = |one: &&provost_plan::diagnostic::Diagnostic| {
        one.severity() != provost_plan::diagnostic::Severity::Note
    };
    let found: Vec<_> = checked.diagnostics.iter().filter(notes).collect();
    assert!(found.is_empty(), "{found:#?}");
    checked.plan.unwrap()
}

#[test]
fn the_examples_open() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut count = 0;
    for entry in fs::read_dir(root).unwrap() {
        let dir = entry.unwrap().path();
        if dir.join("provost.toml").is_file() {
            assert_eq!(findings(&dir), "nothing\n", "{}", dir.display());
            count += 1;
        }
    }
    assert!(count >= 2);
}

/// The control is the same entry without the error: nothing is left out.
#[test]
fn what_is_wrong_with_an_entry_concerns_its_tool_and_what_rests_on_it() {
    let config = |rest: &str| {
        format!(
            "{NOTES}[tools.notes.ops.read]\nop = \"read\"\neffect = \"read\"\n\
             [roles.reader]\ntools = [\"look.*\", \"notes.read\"]\n\
             [tools.look]\nkind = \"http\"\nbase_url = \"http://127.0.0.1:1\"\n{rest}\
             [tools.look.ops.by_key]\nrequest = {{ method = \"GET\", path = \"/${{ args.key }}\" }}\n\
             input = \"key.json\"\noutput = {{ schema = \"found.json\", trusted = true }}\n\
             effect = \"read\"\n\
             [tools.pager]\nkind = \"http\"\nbase_url = \"http://127.0.0.1:1\"\n\
             [tools.pager.ops.notify]\nrequest = {{ method = \"POST\", path = \"/\" }}\n\
             input = \"key.json\"\neffect = \"external\"\n\
             reconcile = {{ tool = \"look.by_key\", args = {{ key = \"${{ args.key }}\" }}, \
             landed = \"${{ output.found }}\", final_after = \"30s\" }}\n"
        )
    };
    let key = r#"{ "type": "object", "required": ["key"], "properties": { "key": { "type": "string" } } }"#;
    let found = r#"{ "type": "object", "required": ["found"], "properties": { "found": { "type": "boolean" } } }"#;
    let opened = |rest: &str| {
        let dir = tempfile::tempdir().unwrap();
        let config = config(rest);
        let files = [
            ("provost.toml", config.as_str()),
            ("key.json", key),
            ("found.json", found),
        ];
        write(dir.path(), &files);
        let workspace = Workspace::open(dir.path(), &OPENING).unwrap_or_else(|_| {
            panic!("{}", findings(dir.path()));
        });
        let known: Vec<String> = workspace.catalog().names().map(str::to_owned).collect();
        (findings(dir.path()), known)
    };
    let (said, known) = opened("");
    assert_eq!(said, "nothing\n");
    assert_eq!(known, ["look.by_key", "notes.read", "pager.notify"]);
    let (said, known) = opened("bese = 1\n");
    assert_eq!(known, ["notes.read"]);
    assert!(said.starts_with("left out: look, pager\n"), "{said}");
    assert!(said.contains("has no field `bese`"), "{said}");
}
