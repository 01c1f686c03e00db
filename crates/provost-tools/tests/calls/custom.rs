//! Tools of the program's own: what they reply, and what is refused of them.

use std::time::Duration;

use provost_plan::catalog::{Effect, Tags};
use provost_plan::schema::Schema;

use super::*;
use crate::{ReplyFuture, Tool};

/// A tool that does what its argument `how` says.
#[derive(Debug)]
struct Own(Vec<Operation>);

impl Own {
    fn named(names: &[&str]) -> Arc<dyn Tool> {
        let schema = |text: &str| Schema::compile(serde_json::from_str(text).unwrap()).unwrap();
        let input = r#"{ "type": "object", "required": ["how"], "properties":
            { "how": { "type": "string" } }, "additionalProperties": false }"#;
        let operation = |name: &&str| Operation {
            output: Some(schema(r#"{ "type": "integer" }"#)),
            timeout: Duration::from_millis(50),
            ..Operation::new(*name, Effect::Write, schema(input))
        };
        Arc::new(Self(names.iter().map(operation).collect()))
    }
}

impl Tool for Own {
    fn describe(&self) -> Vec<Operation> {
        self.0.clone()
    }

    fn call<'a>(&'a self, request: &'a Request) -> ReplyFuture<'a> {
        Box::pin(async move {
            match request.text("how").unwrap() {
                "well" => Reply::ok(json!(request.timeout().as_millis() as u64), vec![1], "a/b"),
                "badly" => Reply::ok(json!("seven"), vec![1], "a/b"),
                "claims" => Reply {
                    refused_args: vec!["how".to_owned()],
                    ..Reply::failed(Class::PermissionDenied, Landing::None, "not this")
                },
                "never" => std::future::pending().await,
                _ => panic!("it stops"),
            }
        })
    }
}

fn open(tool: Arc<dyn Tool>) -> Bench {
    let workspace = Workspace::new();
    let config = ToolConfig::custom(tool, &Tags::default(), &mut Vec::new()).unwrap();
    Bench {
        operations: config.operations(),
        toolbox: Toolbox::open(workspace.dir.path(), vec![config]).unwrap(),
        workspace,
    }
}

#[tokio::test]
async fn it_is_held_to_what_every_tool_is_held_to() {
    let bench = open(Own::named(&["own.act"]));
    let table = [
        (json!({ "how": "well" }), Class::Ok, Landing::Happened),
        (
            json!({ "how": "badly" }),
            Class::OutputInvalid,
            Landing::Happened,
        ),
        (json!({ "how": "never" }), Class::Timeout, Landing::Unknown),
        (json!({ "how": "stop" }), Class::ToolBug, Landing::Unknown),
        (
            json!({ "how": "claims" }),
            Class::PermissionDenied,
            Landing::None,
        ),
        (json!({ "who": 1 }), Class::InvalidArguments, Landing::None),
    ];
    for (args, class, landing) in table {
        let reply = bench.call("own.act", args.clone()).await;
        assert_eq!((reply.class, reply.landing), (class, landing), "{args}");
        // Why none: only an adapter of provost may say who refused.
        assert!(reply.refused_args.is_empty(), "{args}");
    }
    assert_eq!(
        bench.output("own.act", json!({ "how": "well" })).await,
        json!(50)
    );
}

#[test]
fn its_name_is_one_that_a_plan_can_call() {
    let table: [(&[&str], &str); 5] = [
        (&[], "has no operation"),
        (&["Own.act"], "`Own` cannot name a tool"),
        (&["own.Act"], "`Act` cannot name an operation"),
        (
            &["own.act", "other.act"],
            "the operation `other.act` is none of the tool `own`",
        ),
        (&["own"], "the operation `own` is none of the tool `own`"),
    ];
    for (names, message) in table {
        let mut found = Vec::new();
        assert!(ToolConfig::custom(Own::named(names), &Tags::default(), &mut found).is_none());
        assert!(found[0].message.contains(message), "{found:?}");
    }
}
