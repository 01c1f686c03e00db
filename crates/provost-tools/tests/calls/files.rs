//! Files: real folders, and every way out of them that we know of.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

const TOOL: &str = r#"
[tools.notes]
kind = "files"
root = "notes"
max_bytes = 2000
[tools.notes.ops.list]
[tools.notes.ops.read]
[tools.notes.ops.search]
[tools.notes.ops.write]
[tools.notes.ops.edit]
[tools.notes.ops.folder]
[tools.notes.ops.move]
[tools.notes.ops.delete]
[tools.notes.ops.replace]
op = "write"
overwrite = true
"#;

fn bench() -> Bench {
    let workspace = Workspace::new();
    workspace
        .write("notes/a.md", "alpha\n")
        .write("notes/sub/b.md", "beta\n")
        .write("notes/.hidden", "h")
        .write("notes/binary.bin", [0xff, 0xfe, 0x00])
        .write("notes/zero.md", "a\0b")
        .write("notes/big.md", "x".repeat(3_000))
        .write("outside.txt", "outside")
        .write("provost.toml", "secret = 1");
    workspace.open(TOOL)
}

#[tokio::test]
async fn files_are_listed_and_read() {
    let bench = bench();
    let listed = bench.output("notes.list", json!({"glob": "**/*.md"})).await;
    assert_eq!(
        listed["files"],
        json!([
            {"path": "a.md", "bytes": 6},
            {"path": "big.md", "bytes": 3_000},
            {"path": "sub/b.md", "bytes": 5},
            {"path": "zero.md", "bytes": 3},
        ])
    );
    let read = bench
        .output("notes.read", json!({"path": "sub/b.md"}))
        .await;
    assert_eq!(
        read,
        json!({"path": "sub/b.md", "text": "beta\n", "bytes": 5})
    );
    let reply = bench.call("notes.read", json!({"path": "a.md"})).await;
    assert_eq!(reply.evidence, b"alpha\n");
}

#[tokio::test]
async fn no_path_leaves_the_root() {
    let bench = bench();
    let root = bench.workspace.path("notes");
    symlink("../outside.txt", root.join("link.txt")).unwrap();
    symlink("..", root.join("up")).unwrap();
    symlink("sub", root.join("inner")).unwrap();
    symlink("/", root.join("slash")).unwrap();
    std::fs::hard_link(bench.workspace.path("provost.toml"), root.join("hard.txt")).unwrap();
    std::fs::write(root.join("server.pem"), "key").unwrap();
    let absolute = bench.workspace.path("outside.txt").display().to_string();
    for path in [
        "../outside.txt",
        "sub/../../outside.txt",
        "sub/..",
        absolute.as_str(),
        "/etc/passwd",
        "link.txt",
        "up/outside.txt",
        "up/provost.toml",
        "inner/b.md",
        "slash/etc/passwd",
        "hard.txt",
        "server.pem",
    ] {
        for (name, args) in [
            ("notes.read", json!({"path": path})),
            ("notes.search", json!({"glob": path, "contains": "s"})),
            ("notes.write", json!({"path": path, "text": "x"})),
            ("notes.replace", json!({"path": path, "text": "x"})),
            ("notes.delete", json!({"path": path})),
            ("notes.move", json!({"path": path, "to": "new.md"})),
            ("notes.move", json!({"path": "a.md", "to": path})),
        ] {
            let reply = bench.call(name, args).await;
            let (words, text) = said(&reply);
            assert!(
                words.ends_with(" none") && words != "ok none",
                "{name} {path}: {words} {text}"
            );
            assert!(!text.contains("outside\n"), "{text}");
        }
    }
    let kept = |name: &str| std::fs::read_to_string(bench.workspace.path(name)).unwrap();
    assert_eq!(kept("outside.txt"), "outside");
    assert_eq!(kept("provost.toml"), "secret = 1");
    // The control: the same names without a way out are read.
    std::fs::remove_file(root.join("inner")).unwrap();
    std::fs::create_dir(root.join("inner")).unwrap();
    std::fs::copy(root.join("sub/b.md"), root.join("inner/b.md")).unwrap();
    let read = bench
        .output("notes.read", json!({"path": "inner/b.md"}))
        .await;
    assert_eq!(read["text"], "beta\n");
}

#[tokio::test]
async fn what_is_refused_for_what_it_is_names_its_argument() {
    let bench = bench();
    let root = bench.workspace.path("notes");
    symlink("../outside.txt", root.join("link.txt")).unwrap();
    for (name, args, refused) in [
        ("notes.read", json!({"path": "../a.md"}), "path"),
        ("notes.read", json!({"path": "a//b"}), "path"),
        ("notes.read", json!({"path": "server.pem"}), "path"),
        (
            "notes.search",
            json!({"glob": "../*", "contains": "s"}),
            "glob",
        ),
        ("notes.write", json!({"path": "/a.md", "text": "x"}), "path"),
        ("notes.move", json!({"path": "a.md", "to": "../b.md"}), "to"),
        // What the folder holds decides these.
        ("notes.read", json!({"path": "link.txt"}), ""),
        ("notes.read", json!({"path": "none.md"}), ""),
        ("notes.write", json!({"path": "a.md", "text": "x"}), ""),
    ] {
        let reply = bench.call(name, args.clone()).await;
        assert_ne!(reply.class, Class::Ok, "{name} {args}");
        assert_eq!(reply.refused_args.join(" "), refused, "{name} {args}");
    }
}

#[tokio::test]
async fn a_second_name_is_harmless_unless_it_is_protected() {
    let bench = bench();
    let root = bench.workspace.path("notes");
    std::fs::hard_link(bench.workspace.path("outside.txt"), root.join("twin.txt")).unwrap();
    let read = bench
        .output("notes.read", json!({"path": "twin.txt"}))
        .await;
    assert_eq!(read["text"], "outside");
    let reply = bench
        .call("notes.replace", json!({"path": "twin.txt", "text": "x"}))
        .await;
    let (words, text) = said(&reply);
    assert_eq!(words, "conflict none", "{text}");
    assert_eq!(
        std::fs::read_to_string(root.join("twin.txt")).unwrap(),
        "outside"
    );
}

#[tokio::test]
async fn links_are_passed_over_by_a_walk() {
    let bench = bench();
    let root = bench.workspace.path("notes");
    symlink("..", root.join("up")).unwrap();
    symlink(".", root.join("loop")).unwrap();
    symlink("../outside.txt", root.join("c.md")).unwrap();
    let listed = bench.output("notes.list", json!({})).await;
    let names = listed["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["path"].as_str().unwrap());
    let names = names.collect::<Vec<_>>();
    assert_eq!(
        names,
        ["a.md", "big.md", "binary.bin", "sub/b.md", "zero.md"]
    );
    let found = bench
        .output("notes.search", json!({"glob": "**", "contains": "outside"}))
        .await;
    assert_eq!(found["total"], 0);
}

#[tokio::test]
async fn a_pipe_does_not_hang() {
    let bench = bench();
    let pipe = bench.workspace.path("notes/pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let reply = bench.call("notes.read", json!({"path": "pipe"})).await;
    assert_eq!(said(&reply).0, "permission_denied none");
}

const FAILURES: &str = r#"
notes.read {"path": "no.md"}
    not_found none: no `no.md`
notes.read {"path": "a.md/b"}
    not_found none: not a folder
notes.read {"path": "sub"}
    invalid_arguments none: a folder
notes.read {"path": ""}
    invalid_arguments none: /path
notes.read {"path": "a\u0000b"}
    invalid_arguments none: control
notes.read {"path": "binary.bin"}
    output_invalid happened: UTF-8
notes.read {"path": "zero.md"}
    output_invalid happened: zero bytes
notes.read {"path": "big.md"}
    output_invalid happened: 3000 bytes
notes.list {"glob": "/x"}
    permission_denied none: leave
notes.search {"glob": "*.log", "contains": "x"}
    not_found none: *.log
notes.search {"glob": "*"}
    invalid_arguments none: nothing to look for
notes.search {"glob": "*", "new_since": "2026-01-01T00:00:00Z"}
    invalid_arguments none: group_by
notes.search {"glob": "*", "since": "yesterday"}
    invalid_arguments none: /since
notes.write {"path": "a.md", "text": "x"}
    conflict none: exists already
notes.write {"path": "no/a.md", "text": "x"}
    not_found none: there is no folder `no`
notes.write {"path": "sub", "text": "x"}
    invalid_arguments none: not a file
notes.write {"path": "x.key", "text": "x"}
    permission_denied none: key
"#;

#[tokio::test]
async fn failures_have_class_and_landing() {
    check_calls(&bench(), FAILURES).await;
}

#[tokio::test]
async fn a_write_is_whole_and_leaves_nothing_behind() {
    let bench = bench();
    let args = json!({"path": "sub/new.md", "text": "new\n"});
    let written = bench.output("notes.write", args.clone()).await;
    assert_eq!(
        written,
        json!({"path": "sub/new.md", "bytes": 4, "created": true})
    );
    assert_eq!(
        said(&bench.call("notes.write", args).await).0,
        "conflict none"
    );
    let file = bench.workspace.path("notes/sub/new.md");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let args = json!({"path": "sub/new.md", "text": "newer\n"});
    let replaced = bench.output("notes.replace", args).await;
    assert_eq!(replaced["created"], false);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "newer\n");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let left = std::fs::read_dir(bench.workspace.path("notes/sub"))
        .unwrap()
        .count();
    assert_eq!(left, 2);
}

#[tokio::test]
async fn a_missing_root_says_what_to_do() {
    let workspace = Workspace::new();
    let bench = workspace.open(TOOL);
    let (words, text) = said(&bench.call("notes.list", json!({})).await);
    assert_eq!(words, "unavailable none");
    assert!(
        text.contains("`notes` of the tool `notes` is not there; create it"),
        "{text}"
    );
    assert_eq!(bench.toolbox.troubles()[0].tool, "notes");
    std::fs::create_dir(bench.workspace.path("notes")).unwrap();
    assert_eq!(
        bench.output("notes.list", json!({})).await,
        json!({"files": []})
    );
    assert_eq!(bench.toolbox.troubles(), []);
}

#[tokio::test]
async fn a_root_that_becomes_a_way_out_is_refused_at_the_call() {
    let bench = bench();
    let root = bench.workspace.path("notes");
    std::fs::remove_dir_all(&root).unwrap();
    std::fs::create_dir(bench.workspace.path("policies")).unwrap();
    for target in ["policies", "."] {
        symlink(target, &root).unwrap();
        let (words, text) = said(&bench.call("notes.list", json!({})).await);
        assert_eq!(words, "permission_denied none", "{text}");
        std::fs::remove_file(&root).unwrap();
    }
}

const CHANGES: &str = r#"
notes.delete {"path": "no.md"}
    not_found none: no file `no.md`
notes.delete {"path": "sub"}
    invalid_arguments none: not a file
notes.delete {"path": "link.md"}
    permission_denied none: symbolic link
notes.delete {"path": "twin.md"}
    conflict none: second name
notes.move {"path": "no.md", "to": "x.md"}
    not_found none: no file `no.md`
notes.move {"path": "a.md", "to": "sub/b.md"}
    conflict none: exists already, and `move` replaces nothing
notes.move {"path": "a.md", "to": "a.md"}
    conflict none: exists already, and `move` replaces nothing
notes.move {"path": "a.md", "to": "nosuch/a.md"}
    not_found none: there is no folder `nosuch`
notes.move {"path": "a.md", "to": "sub/nosuch/deep/a.md"}
    not_found none: there is no folder `sub/nosuch`
notes.move {"path": "a.md", "to": "server.pem"}
    permission_denied none: server.pem
notes.move {"path": "link.md", "to": "x.md"}
    permission_denied none: symbolic link
"#;

#[tokio::test]
async fn a_file_is_moved_and_deleted_below_the_root() {
    let bench = bench();
    let root = bench.workspace.path("notes");
    symlink("a.md", root.join("link.md")).unwrap();
    std::fs::hard_link(bench.workspace.path("outside.txt"), root.join("twin.md")).unwrap();
    check_calls(&bench, CHANGES).await;
    for name in ["notes.move", "notes.delete"] {
        let effect = bench.operation(name).effect;
        assert_eq!(effect, provost_plan::catalog::Effect::Destructive);
    }
    let moved = bench
        .output("notes.move", json!({"path": "a.md", "to": "sub/c.md"}))
        .await;
    assert_eq!(moved, json!({"path": "a.md", "to": "sub/c.md", "bytes": 6}));
    assert!(!root.join("a.md").exists());
    assert_eq!(
        std::fs::read_to_string(root.join("sub/c.md")).unwrap(),
        "alpha\n"
    );
    let deleted = bench
        .output("notes.delete", json!({"path": "sub/c.md"}))
        .await;
    assert_eq!(deleted, json!({"path": "sub/c.md", "bytes": 6}));
    assert!(!root.join("sub/c.md").exists());
    let again = bench
        .call("notes.delete", json!({"path": "sub/c.md"}))
        .await;
    assert_eq!(said(&again).0, "not_found none");
}

#[tokio::test]
async fn an_edit_replaces_a_text_that_stands_once_and_nothing_else() {
    let bench = bench();
    let file = bench.workspace.path("notes/plan.md");
    std::fs::write(&file, "one\ntwo, three\ntwo\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let edit = |old: &str, new: &str| json!({"path": "plan.md", "old": old, "new": new});
    let output = bench.output("notes.edit", edit("three\n", "3\n")).await;
    assert_eq!(output, json!({"path": "plan.md", "bytes": 15, "line": 2}));
    let text = || std::fs::read_to_string(&file).unwrap();
    assert_eq!(text(), "one\ntwo, 3\ntwo\n");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let table = r#"
        notes.edit {"path": "plan.md", "old": "two", "new": "2"}
        conflict none: more than once
        notes.edit {"path": "plan.md", "old": "three", "new": "3"}
        conflict none: does not stand
        notes.edit {"path": "none.md", "old": "a", "new": "b"}
        not_found none: no file
        notes.edit {"path": "binary.bin", "old": "a", "new": "b"}
        invalid_arguments none: UTF-8
        notes.edit {"path": "big.md", "old": "a", "new": "b"}
        output_invalid none: max_bytes
        notes.edit {"path": "../provost.toml", "old": "secret", "new": "b"}
        permission_denied none: leave the root
        notes.edit {"path": "server.pem", "old": "a", "new": "b"}
        permission_denied none: key
    "#;
    check_calls(&bench, table).await;
    assert_eq!(text(), "one\ntwo, 3\ntwo\n");
    let linked = bench.workspace.path("notes/second.md");
    std::fs::hard_link(&file, linked).unwrap();
    let reply = bench.call("notes.edit", edit("one", "1")).await;
    assert_eq!(said(&reply).0, "conflict none");
}

#[tokio::test]
async fn a_folder_is_made_once_and_asked_for_as_often_as_one_likes() {
    let bench = bench();
    let folder = json!({"path": "new"});
    for created in [true, false] {
        let output = bench.output("notes.folder", folder.clone()).await;
        assert_eq!(output, json!({"path": "new", "created": created}));
    }
    assert!(bench.workspace.path("notes/new").is_dir());
    symlink("..", bench.workspace.path("notes/up")).unwrap();
    let table = r#"
        notes.folder {"path": "a.md"}
        conflict none: no folder
        notes.folder {"path": "up"}
        conflict none: no folder
        notes.folder {"path": "none/inner"}
        not_found none: none
        notes.folder {"path": "../beside"}
        permission_denied none: leave the root
    "#;
    check_calls(&bench, table).await;
    assert!(!bench.workspace.path("beside").exists());
}
