//! Paths of the configuration that are links: what leads elsewhere between the yes and the call.

use super::*;

/// Makes `name` a link to `to`, whatever it was.
fn link(workspace: &Workspace, name: &str, to: &str) {
    let path = workspace.path(name);
    let _absent = std::fs::remove_file(&path);
    std::os::unix::fs::symlink(to, path).unwrap();
}

/// The digest of an operation, if the workspace is opened anew.
fn digest_anew(workspace: &Workspace, config: &str, name: &str) -> String {
    let configs = configs(config, workspace.dir.path()).unwrap();
    let mut operations = configs.iter().flat_map(ToolConfig::operations);
    let operation = operations.find(|one| one.name == name).unwrap();
    operation.digest().to_string()
}

const NOTES: &str = r#"
[tools.notes]
kind = "files"
root = "notes"
[tools.notes.ops.write]
[tools.notes.ops.list]
"#;

#[tokio::test]
async fn a_root_behind_a_link_that_was_swapped_is_not_written() {
    let workspace = Workspace::new();
    workspace.write("one/a.md", "").write("two/b.md", "");
    link(&workspace, "notes", "one");
    let bench = workspace.open(NOTES);
    let write = |path: &str| json!({ "path": path, "text": "x" });
    bench.output("notes.write", write("first.md")).await;
    link(&bench.workspace, "notes", "two");
    let (words, text) = said(&bench.call("notes.write", write("second.md")).await);
    assert_eq!(words, "drift none", "{text}");
    let (words, _) = said(&bench.call("notes.list", json!({})).await);
    assert_eq!(words, "drift none");
    assert!(!bench.workspace.path("two/second.md").exists());
    // Back where it led, it is used again: nothing is remembered of the way there.
    link(&bench.workspace, "notes", "one");
    bench.output("notes.write", write("second.md")).await;
}

#[tokio::test]
async fn a_root_that_was_not_there_does_not_become_a_link() {
    let workspace = Workspace::new();
    workspace.write("two/b.md", "");
    let bench = workspace.open(NOTES);
    let (words, _) = said(&bench.call("notes.list", json!({})).await);
    assert_eq!(words, "unavailable none");
    link(&bench.workspace, "notes", "two");
    let (words, text) = said(&bench.call("notes.list", json!({})).await);
    assert_eq!(words, "drift none", "{text}");
}

#[test]
fn where_the_link_of_a_root_leads_is_part_of_what_is_approved() {
    let workspace = Workspace::new();
    workspace.write("one/a.md", "").write("notes/b.md", "");
    let digest = |workspace: &Workspace| digest_anew(workspace, NOTES, "notes.write");
    let plain = digest(&workspace);
    std::fs::rename(workspace.path("notes"), workspace.path("two")).unwrap();
    link(&workspace, "notes", "one");
    let one = digest(&workspace);
    link(&workspace, "notes", "two");
    let two = digest(&workspace);
    assert!(plain != one && one != two && two != plain);
}

const SHOP: &str = r#"
[tools.shop]
kind = "sql"
url = "postgres://a@127.0.0.1:9/shop"
ca = "ca.pem"
[tools.shop.ops.count]
query = "select count(*) as n from orders"
"#;

#[tokio::test]
async fn certificates_behind_a_link_that_was_swapped_vouch_for_nobody() {
    let workspace = Workspace::new();
    let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    workspace.write("one.pem", pem).write("two.pem", pem);
    link(&workspace, "ca.pem", "one.pem");
    let bench = workspace.open(SHOP);
    let before = digest_anew(&bench.workspace, SHOP, "shop.count");
    let (words, _) = said(&bench.call("shop.count", json!({})).await);
    assert_eq!(words, "unavailable none");
    link(&bench.workspace, "ca.pem", "two.pem");
    let (words, text) = said(&bench.call("shop.count", json!({})).await);
    assert_eq!(words, "drift none", "{text}");
    assert_ne!(digest_anew(&bench.workspace, SHOP, "shop.count"), before);
}
