//! Fail closed: whatever goes wrong forbids. Each rule has a control that shows what would have
//! happened without it.

use cedar_policy::{Authorizer, Decision as Answer, Entities};

use super::super::entities::{context, principal_entity, principal_uid, resource_entity, uid};
use super::super::values::DecisionInput;
use super::*;

const PERMIT: &str = r#"@id("all") permit (principal, action in Action::"call", resource);"#;

/// Cedar skips a forbid that errs and allows the call; provost forbids it.
#[test]
fn an_erring_forbid_forbids() {
    let errs = r#"@id("errs") forbid (principal, action == Action::"db.put", resource)
        when { context.args has amount && context.args.amount * 9223372036854775807 > 0 };"#;
    let policy = policy(&[PERMIT, errs]);
    let fine = Case::call("db.put").arg("amount", json!(0), Integrity::Trusted);
    assert_eq!(line(&fine.decide(&policy)), "permit by all");
    let case = Case::call("db.put").arg("amount", json!(2), Integrity::Trusted);
    let found = line(&case.decide(&policy));
    assert!(found.starts_with("forbid; error: "), "{found}");
    assert!(found.contains("errs"), "{found}");

    // The control: Cedar alone says yes.
    let action = ActionFor::new(&policy, &case);
    let response = action.authorize(&action.entities);
    assert_eq!(response.decision(), Answer::Allow);
    assert_eq!(response.diagnostics().errors().count(), 1);
}

/// Entities without their schema lose the groups of actions, and a group's forbid never fires.
#[test]
fn a_forbid_over_a_group_fires() {
    let group = r#"@id("bank") forbid (principal, action in Action::"server:bank", resource);"#;
    let anything = r#"@id("any") permit (principal, action, resource);"#;
    let policy = policy(&[anything, group]);
    let case = Case::call("bank.pay");
    assert_eq!(line(&case.decide(&policy)), "forbid by bank");
    assert_eq!(line(&Case::call("db.put").decide(&policy)), "permit by any");

    // The control: the same entities, built without the schema.
    let action = ActionFor::new(&policy, &case);
    let bare = Entities::from_entities(action.own.clone(), None).unwrap();
    assert_eq!(action.authorize(&bare).decision(), Answer::Allow);
    assert_eq!(action.authorize(&action.entities).decision(), Answer::Deny);
}

#[test]
fn an_operation_the_policy_was_not_loaded_for_is_forbidden() {
    let policy = policy(&[PERMIT]);
    let mut case = Case::call("db.put");
    case.operation.name = "db.other".to_owned();
    assert_eq!(
        line(&case.decide(&policy)),
        "forbid; error: the policy was loaded for a catalog without `db.other`"
    );
    let mut case = Case::call("db.put");
    case.operation.input = JsonSchema::compile(json!({ "type": "object" })).unwrap();
    assert_eq!(
        line(&case.decide(&policy)),
        "forbid; error: the input schema of `db.put` is not the one policy was typed by"
    );
}

/// Arguments that do not fit their types never reach Cedar.
#[test]
fn arguments_that_do_not_fit_forbid() {
    let policy = policy(&[PERMIT]);
    let table = [
        ("to", json!(1), "argument `to` is not a text"),
        ("amount", json!("1"), "argument `amount` is not an integer"),
        (
            "amount",
            json!(9_007_199_254_740_993_i64),
            "argument `amount` is not an integer within",
        ),
        (
            "amount",
            json!(1.5),
            "argument `amount` is not an integer within ±2^53, which",
        ),
        ("urgent", json!(null), ""),
        (
            "copies",
            json!(["a", 1]),
            "argument `copies[]` is not a text",
        ),
        (
            "order",
            json!({"id": 1}),
            "argument `order.id` is not a text",
        ),
        (
            "order",
            json!({"lines": 1}),
            "argument `order.id` is not there",
        ),
    ];
    for (name, value, expected) in table {
        let case = Case::call("db.put").arg(name, value.clone(), Integrity::Trusted);
        let found = line(&case.decide(&policy));
        let fits = expected.is_empty();
        assert_eq!(found == "permit by all", fits, "{name} {value}: {found}");
        assert!(
            fits || found.starts_with("forbid; error: "),
            "{name} {value}: {found}"
        );
        assert!(found.contains(expected), "{name} {value}: {found}");
    }
    // The control: the same argument, fitting.
    let case = Case::call("db.put").arg("order", json!({"id": "x"}), Integrity::Trusted);
    assert_eq!(line(&case.decide(&policy)), "permit by all");
}

/// What policy cannot look at asks, even where no rule does; a plain read does not.
#[test]
fn opaque_arguments_ask_whatever_the_policy_says() {
    let policy = policy(&[PERMIT]);
    let table = [
        (
            "db.put",
            "free",
            json!({"a": 1}),
            "ask by provost:opaque-arguments",
        ),
        (
            "db.put",
            "either",
            json!("x"),
            "ask by provost:opaque-arguments",
        ),
        (
            "db.put",
            "price",
            json!(0.12345),
            "ask by provost:opaque-arguments",
        ),
        ("db.put", "price", json!(0.1234), "permit by all"),
        ("db.put", "price", json!(3), "permit by all"),
        (
            "db.put",
            "price",
            json!(1e15),
            "ask by provost:opaque-arguments",
        ),
        (
            "db.put",
            "unknown",
            json!(1),
            "ask by provost:opaque-arguments",
        ),
        ("db.put", "note", json!(null), "permit by all"),
        ("db.put", "copies", json!([]), "permit by all"),
        ("db.look", "free", json!({"a": 1}), "permit by all"),
        (
            "web.get",
            "free",
            json!({"a": 1}),
            "ask by provost:opaque-arguments",
        ),
    ];
    for (name, arg, value, expected) in table {
        let case = Case::call(name).arg(arg, value.clone(), Integrity::Trusted);
        assert_eq!(
            line(&case.decide(&policy)),
            expected,
            "{name} {arg} {value}"
        );
    }
}

/// An argument without a label counts as untrusted text.
#[test]
fn a_missing_label_is_untrusted() {
    let policy = policy(&[DEFAULT_POLICY]);
    let mut case = Case::call("db.put").arg("to", json!("x"), Integrity::Trusted);
    assert_eq!(line(&case.decide(&policy)), "permit by calls");
    case.labels.clear();
    assert_eq!(line(&case.decide(&policy)), "ask by untrusted-sink");
}

#[test]
fn no_policy_at_all_forbids_everything() {
    let policy = policy(&[]);
    for name in ["db.look", "db.put", "pager.notify"] {
        assert_eq!(line(&Case::call(name).decide(&policy)), "forbid");
    }
}

/// A call as Cedar is asked about it, for the controls.
struct ActionFor<'a> {
    policy: &'a Policy,
    own: Vec<cedar_policy::Entity>,
    entities: Entities,
    request: cedar_policy::Request,
}

impl<'a> ActionFor<'a> {
    fn new(policy: &'a Policy, case: &Case) -> Self {
        use super::super::entities::EntityFact;
        let loaded = &policy.inner;
        let none = BTreeSet::new();
        let texts = [
            "effect",
            "risk",
            "role",
            "sink_integrity",
            "control_integrity",
        ];
        let flags = [
            "untrusted_sink",
            "untrusted_control",
            "secret_args",
            "inputs_validated",
            "values_from_goal",
            "attended",
        ];
        let facts = texts
            .into_iter()
            .map(|name| (name, EntityFact::Text("")))
            .chain(flags.into_iter().map(|name| (name, EntityFact::Flag(true))))
            .chain([
                ("tags", EntityFact::Texts(&none)),
                ("repeats", EntityFact::Whole(0)),
            ]);
        let own = vec![
            principal_entity(&case.principal, None).unwrap(),
            resource_entity("Call", facts).unwrap(),
        ];
        let entities = Entities::from_entities(own.clone(), Some(&*loaded.schema)).unwrap();
        let fields = &loaded.operations.get(&case.operation.name).unwrap().fields;
        let seen =
            DecisionInput::of(fields, &case.operation, case.args.iter(), &BTreeSet::new()).unwrap();
        let request = cedar_policy::Request::new(
            principal_uid(&case.principal).unwrap(),
            uid("Action", &case.operation.name).unwrap(),
            uid("Call", "call").unwrap(),
            context(&seen).unwrap(),
            Some(&*loaded.schema),
        )
        .unwrap();
        Self {
            policy,
            own,
            entities,
            request,
        }
    }

    fn authorize(&self, entities: &Entities) -> cedar_policy::Response {
        let entries = &self.policy.inner.entries;
        let set = cedar_policy::PolicySet::from_policies(entries.iter().map(|e| e.policy.clone()));
        Authorizer::new().is_authorized(&self.request, &set.unwrap(), entities)
    }
}
