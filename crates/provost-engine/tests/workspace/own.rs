//! Tools of the program's own in a workspace: policy and lock hold for them as for any other.

use std::sync::Arc;

use provost_engine::run::outcome::Reply;
use provost_engine::tools::{ReplyFuture, Request, Tool};
use provost_engine::workspace::Workspace;
use provost_plan::catalog::{Effect, Operation};
use provost_plan::schema::Schema;
use serde_json::json;

use super::{NOTES, OPENING, write};

/// A tool of one operation.
#[derive(Debug)]
struct One(Operation);

impl One {
    fn shared(name: &str, version: u32) -> Arc<dyn Tool> {
        let input = Schema::compile(json!({ "type": "object" })).unwrap();
        Arc::new(Self(Operation {
            endpoint: json!({ "version": version }),
            ..Operation::new(name, Effect::Read, input)
        }))
    }
}

impl Tool for One {
    fn describe(&self) -> Vec<Operation> {
        vec![self.0.clone()]
    }

    fn call<'a>(&'a self, _: &'a Request) -> ReplyFuture<'a> {
        Box::pin(async { Reply::ok(json!(1), Vec::new(), "text/plain") })
    }
}

#[test]
fn a_tool_of_the_programs_own_is_in_the_catalog_and_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("provost.toml", NOTES), ("notes/a.md", "a")]);
    let open = |tool: Arc<dyn Tool>| {
        Workspace::open_with(dir.path(), &OPENING, &[tool]).map_err(|error| {
            let found = error.findings().iter().flat_map(|one| &one.diagnostics);
            found.map(|found| found.message.clone()).collect::<Vec<_>>()
        })
    };
    let workspace = open(One::shared("own.look", 1)).unwrap();
    assert!(workspace.catalog().get("own.look").is_some());
    workspace.write_lock().unwrap();
    assert!(open(One::shared("own.look", 1)).is_ok());
    assert_eq!(
        open(One::shared("own.look", 2)).unwrap_err(),
        ["the tool `own.look` differs from provost.lock: changed in endpoint"]
    );
    assert_eq!(
        open(One::shared("notes.look", 1)).unwrap_err(),
        ["there are two tools called `notes`"]
    );
}
