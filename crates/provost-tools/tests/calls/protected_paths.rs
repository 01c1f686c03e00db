//! What governs the workspace is out of every tool's reach, whatever way it is named.

use std::os::unix::fs::symlink;

use provost_plan::codes::Code;

use super::*;

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace
        .write("provost.toml", "")
        .write("provost.lock", "")
        .write("policies/default.cedar", "permit")
        .write("playbooks/a.yaml", "a: 1")
        .write(".provost/blobs/x", "x")
        .write("keys/server.pem", "key")
        .write("keys/other.KEY", "key")
        .write("data/logs/a.log", "a");
    workspace.database(".provost/journal.db", "create table t (a)");
    workspace.database("data/m.db", "create table t (a)");
    workspace
}

fn files(root: &str) -> String {
    format!("[tools.f]\nkind = \"files\"\nroot = \"{root}\"\n")
}

fn sql(database: &str) -> String {
    format!(
        "[tools.s]\nkind = \"sql\"\ndatabase = \"{database}\"\n[tools.s.ops.ask]\nadhoc = true\n"
    )
}

#[test]
fn a_reach_that_contains_what_governs_is_refused() {
    let workspace = workspace();
    let base = workspace.dir.path().canonicalize().unwrap();
    symlink(".", workspace.path("data/logs/../self")).unwrap();
    symlink(&base, workspace.path("data/base")).unwrap();
    symlink("../policies", workspace.path("data/rules")).unwrap();
    symlink("../.provost", workspace.path("data/store")).unwrap();
    symlink("../.provost/journal.db", workspace.path("data/j.db")).unwrap();
    symlink("../provost.toml", workspace.path("data/t.db")).unwrap();
    let roots = [
        ".",
        "..",
        "/",
        "policies",
        "playbooks",
        ".provost",
        ".provost/blobs",
        "keys",
        "data/..",
        "data/logs/../..",
        "data/../policies",
        "./policies/.",
        "data/base",
        "data/base/policies",
        "data/rules",
        "data/store/blobs",
        "data/self/../../policies",
        "policies/not/there",
    ];
    for root in roots {
        let errors = workspace.refusal(&files(root));
        assert_eq!(errors.len(), 1, "{root}");
        assert_eq!(errors[0].diagnostic().code, Code::ReachesItself, "{root}");
        assert!(
            errors[0].to_string().contains("`f` reaches"),
            "{}",
            errors[0]
        );
    }
    let databases = [
        ".provost/journal.db",
        "data/../.provost/journal.db",
        "data/j.db",
        "data/store/journal.db",
        "data/t.db",
        "provost.toml",
        ".provost/new.db",
        "policies/x.db",
        "keys/server.pem",
        "data/base/.provost/journal.db",
    ];
    for database in databases {
        let errors = workspace.refusal(&sql(database));
        assert_eq!(errors.len(), 1, "{database}");
        assert_eq!(
            errors[0].diagnostic().code,
            Code::ReachesItself,
            "{database}"
        );
    }
    // The control: neighbours are let through.
    assert_eq!(workspace.refusal(&files("data/logs")), []);
    assert_eq!(workspace.refusal(&files("data/logs/../logs")), []);
    assert_eq!(workspace.refusal(&sql("data/m.db")), []);
    assert_eq!(workspace.refusal(&sql("data/new.db")), []);
}

#[test]
fn a_hard_link_is_what_it_links() {
    for target in [
        "provost.toml",
        "provost.lock",
        "policies/default.cedar",
        "playbooks/a.yaml",
        ".provost/blobs/x",
        ".provost/journal.db",
        "keys/server.pem",
        "keys/other.KEY",
    ] {
        let workspace = workspace();
        let link = workspace.path("data/logs/innocent.log");
        std::fs::hard_link(workspace.path(target), &link).unwrap();
        let errors = workspace.refusal(&files("data/logs"));
        assert_eq!(errors.len(), 1, "{target}");
        let errors = workspace.refusal(&sql("data/logs/innocent.log"));
        assert_eq!(errors.len(), 1, "{target}");
        // The control: a copy is another file.
        std::fs::remove_file(&link).unwrap();
        std::fs::copy(workspace.path(target), &link).unwrap();
        assert_eq!(workspace.refusal(&files("data/logs")), [], "{target}");
        assert_eq!(
            workspace.refusal(&sql("data/logs/innocent.log")),
            [],
            "{target}"
        );
    }
}

#[test]
fn what_is_a_link_itself_is_protected_where_it_leads() {
    let workspace = Workspace::new();
    workspace
        .write("provost.toml", "")
        .write("elsewhere/rules/a.cedar", "");
    symlink("elsewhere/rules", workspace.path("policies")).unwrap();
    for root in ["elsewhere", "elsewhere/rules", "policies"] {
        assert_eq!(workspace.refusal(&files(root)).len(), 1, "{root}");
    }
    workspace.write("elsewhere2/x", "");
    assert_eq!(workspace.refusal(&files("elsewhere2")), []);
}

#[tokio::test]
async fn a_database_that_becomes_protected_is_refused_at_the_call() {
    let workspace = workspace();
    let bench = workspace.open(&sql("data/new.db"));
    symlink(
        "../.provost/journal.db",
        bench.workspace.path("data/new.db"),
    )
    .unwrap();
    let reply = bench.call("s.ask", json!({"sql": "select 1 as a"})).await;
    assert_eq!(said(&reply).0, "permission_denied none");
}
