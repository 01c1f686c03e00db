//! Text that is added at the end of a file, and under a key once, wherever a crash fell.

use std::sync::Arc;

use super::*;

const TOOL: &str = r#"
[tools.log]
kind = "files"
root = "logs"
[tools.log.ops.list]
[tools.log.ops.read]
[tools.log.ops.write]
[tools.log.ops.plain]
op = "append"
[tools.log.ops.keyed]
op = "append"
idempotency = { key = "table" }
"#;

fn bench() -> Bench {
    let workspace = Workspace::new();
    workspace.write("logs/day.md", "begun\n");
    workspace.open(TOOL)
}

fn text(bench: &Bench) -> String {
    std::fs::read_to_string(bench.workspace.path("logs/day.md")).unwrap()
}

async fn add(bench: &Bench, text: &str, key: &str) -> String {
    let args = json!({"path": "day.md", "text": text});
    said(&bench.call_with_key("log.keyed", args, Some(key)).await).0
}

#[tokio::test]
async fn without_a_key_every_call_adds() {
    let bench = bench();
    let args = json!({"path": "day.md", "text": "milk\n"});
    let added = bench.output("log.plain", args.clone()).await;
    assert_eq!(
        added,
        json!({"path": "day.md", "bytes": 5, "created": false})
    );
    bench.call_with_key("log.plain", args, Some("k")).await;
    assert_eq!(text(&bench), "begun\nmilk\nmilk\n");
    let begun = bench
        .output("log.plain", json!({"path": "new.md", "text": "x"}))
        .await;
    assert_eq!(begun["created"], true);
    let operation = bench.operation("log.plain");
    assert_eq!(operation.effect, provost_plan::catalog::Effect::Write);
    assert!(operation.content.contains("text"));
    assert!(!bench.workspace.path("logs/provost_effects").exists());
}

#[tokio::test]
async fn under_a_key_it_is_added_once() {
    let bench = bench();
    for (line, key, words) in [
        ("milk\n", "k1", "ok happened"),
        ("milk\n", "k1", "ok happened"),
        ("milk\n", "k2", "ok happened"),
        ("bread\n", "k1", "conflict none"),
        ("milk\n", "k1", "ok happened"),
    ] {
        assert_eq!(add(&bench, line, key).await, words, "{line} {key}");
    }
    assert_eq!(text(&bench), "begun\nmilk\nmilk\n");
}

/// What a crash leaves behind, as far as the file came and as far as its keys came.
#[tokio::test]
async fn wherever_a_crash_fell_it_is_added_once() {
    let whole = "begun\nmilk\n";
    for cut in "begun\n".len()..=whole.len() {
        let bench = bench();
        assert_eq!(add(&bench, "milk\n", "k").await, "ok happened");
        bench
            .workspace
            .write("logs/day.md", &whole.as_bytes()[..cut]);
        assert_eq!(add(&bench, "milk\n", "k").await, "ok happened", "{cut}");
        assert_eq!(text(&bench), whole, "{cut}");
    }
    let bench = bench();
    assert_eq!(add(&bench, "milk\n", "k").await, "ok happened");
    let table = bench.workspace.path("logs/provost_effects");
    let keys = std::fs::read_to_string(&table).unwrap();
    for cut in 0..keys.len() {
        // Its row was not written to its end, so the text was not begun.
        std::fs::write(&table, &keys.as_bytes()[..cut]).unwrap();
        bench.workspace.write("logs/day.md", "begun\n");
        for _ in 0..2 {
            assert_eq!(add(&bench, "milk\n", "k").await, "ok happened", "{cut}");
            assert_eq!(add(&bench, "eggs\n", "other").await, "ok happened", "{cut}");
        }
        assert_eq!(text(&bench), "begun\nmilk\neggs\n", "{cut}");
    }
}

#[tokio::test]
async fn what_others_changed_meanwhile_is_a_doubt() {
    for now in ["begun\neggs\n", "begun\neg", "beg", "", "begun\nmil!milk\n"] {
        let bench = bench();
        assert_eq!(add(&bench, "milk\n", "k").await, "ok happened");
        bench.workspace.write("logs/day.md", now);
        assert_eq!(
            add(&bench, "milk\n", "k").await,
            "conflict unknown",
            "{now}"
        );
        assert_eq!(text(&bench), now);
    }
    // What others add behind it changes nothing.
    let bench = bench();
    assert_eq!(add(&bench, "milk\n", "k").await, "ok happened");
    bench.workspace.write("logs/day.md", "begun\nmilk\neggs\n");
    assert_eq!(add(&bench, "milk\n", "k").await, "ok happened");
    assert_eq!(text(&bench), "begun\nmilk\neggs\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_add_each_key_once() {
    let bench = Arc::new(bench());
    let calls = (0..24).map(|call| {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move {
            add(
                &bench,
                &format!("{}\n", call % 8),
                &format!("k{}", call % 8),
            )
            .await
        })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), "ok happened");
    }
    let text = text(&bench);
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0", "1", "2", "3", "4", "5", "6", "7"]);
}

const REFUSED: &str = r#"
log.read {"path": "provost_effects"}
    permission_denied none: keys of what was added
log.write {"path": "provost_effects", "text": "x"}
    permission_denied none: keys of what was added
log.plain {"path": "provost_effects", "text": "x"}
    permission_denied none: keys of what was added
log.plain {"path": "../day.md", "text": "x"}
    permission_denied none: leave the root
log.plain {"path": "no/day.md", "text": "x"}
    not_found none: no/day.md
log.plain {"path": "link.md", "text": "x"}
    permission_denied none: symbolic link
log.plain {"path": "server.pem", "text": "x"}
    permission_denied none: key
"#;

#[tokio::test]
async fn no_path_leads_to_the_keys_or_out() {
    let bench = bench();
    assert_eq!(add(&bench, "milk\n", "k").await, "ok happened");
    std::os::unix::fs::symlink("day.md", bench.workspace.path("logs/link.md")).unwrap();
    check_calls(&bench, REFUSED).await;
    let listed = bench.output("log.list", json!({})).await;
    assert_eq!(listed, json!({"files": [{"path": "day.md", "bytes": 11}]}));
}
