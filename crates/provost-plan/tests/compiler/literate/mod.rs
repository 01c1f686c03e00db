//! Literate tests of plans: Markdown with fenced blocks, read into a case and run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use provost_plan::catalog::{Catalog, Effect, Idempotency, KeyCarrier, Operation, Reconcile, Role};
use provost_plan::check::budget::WorstCase;
use provost_plan::check::{Checked, CheckedPlan, Draft, Origin, RevisionBase, Terms, check};
use provost_plan::diagnostic::Diagnostic;
use provost_plan::label::{Integrity, Label};
use provost_plan::node::parse_yaml;
use provost_plan::plan::read::read_plan;
use provost_plan::plan::{Criterion, Goal, Limits, Plan};
use provost_plan::policy::{People, Policy, Principal, PrincipalKind};
use provost_plan::reach::CheckedUnder;
use provost_plan::render::{Style, render};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use serde_json::{Map, Value, json};

mod catalogs;

/// The policy of a file that brings none: everything is permitted.
const PERMISSIVE: &str = "@id(\"corpus/all\")\npermit (principal, action, resource);\n";

const SHARED: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../corpus/plans/catalog.yaml"
));

/// A Markdown file, as its fenced blocks.
pub struct Document {
    blocks: Vec<Block>,
}

struct Block {
    info: String,
    text: String,
}

impl Document {
    pub fn parse(text: &str) -> Self {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for line in text.lines() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(info)) => {
                    open = Some(Block {
                        info: info.to_owned(),
                        text: String::new(),
                    });
                }
                (Some(_), Some("")) => blocks.extend(open.take()),
                (Some(block), _) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "a fence is not closed");
        Self { blocks }
    }

    /// A document of these blocks.
    pub fn of(blocks: &[(&str, &str)]) -> Self {
        let block = |(info, text): &(&str, &str)| Block {
            info: (*info).to_owned(),
            text: (*text).to_owned(),
        };
        Self {
            blocks: blocks.iter().map(block).collect(),
        }
    }

    /// The text of the block of that kind, if there is one.
    pub fn block(&self, info: &str) -> Option<&str> {
        let mut found = self.blocks.iter().filter(|block| block.info == info);
        let first = found.next()?;
        assert!(found.next().is_none(), "two blocks `{info}`");
        Some(&first.text)
    }

    /// The findings the file expects.
    pub fn expected(&self) -> Vec<Expected> {
        self.block("text expected")
            .unwrap_or_default()
            .lines()
            .map(|line| {
                let mut parts = line.splitn(3, ' ');
                let mut part = || parts.next().unwrap_or_default().to_owned();
                Expected {
                    code: part(),
                    place: part(),
                    message: part(),
                }
            })
            .collect()
    }

    /// The file with other expectations.
    pub fn with_expected(&self, text: &str, expected: &[Expected]) -> String {
        let before = self.block("text expected").expect("expectations");
        let after: String = expected.iter().map(|e| format!("{e}\n")).collect();
        text.replacen(
            &format!("```text expected\n{before}```"),
            &format!("```text expected\n{after}```"),
            1,
        )
    }
}

/// One finding, as written in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub code: String,
    pub place: String,
    pub message: String,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.code, self.place, self.message)
    }
}

/// A plan that was run through the reader and the check.
pub struct Case {
    source: Source,
    diagnostics: Vec<Diagnostic>,
    checked: Option<Checked>,
    catalog: Arc<Catalog>,
    goal: Goal,
}

impl Case {
    pub fn of(document: &Document) -> Self {
        Self::run(
            document,
            document.block("yaml plan").expect("a block `yaml plan`"),
        )
    }

    /// An example of a page: the block `yaml fails` or `yaml repaired`.
    pub fn example(document: &Document, info: &str) -> Option<Self> {
        let text = document.block(&format!("yaml {info}"))?;
        Some(Self::run(document, text))
    }

    fn run(document: &Document, text: &str) -> Self {
        let source = Source::new("plan.yaml", text);
        let plan = match read_plan(&source) {
            Ok(plan) => plan,
            Err(diagnostics) => {
                return Self {
                    source,
                    diagnostics,
                    checked: None,
                    catalog: Arc::default(),
                    goal: Goal::of_text(""),
                };
            }
        };
        let setting = Setting::of(document, &plan);
        let (catalog, goal) = (setting.terms.catalog.clone(), setting.terms.goal.clone());
        let checked = setting.check(plan);
        Self {
            source,
            diagnostics: checked.diagnostics.clone(),
            checked: Some(checked),
            catalog,
            goal,
        }
    }

    /// Another text under what a document sets.
    pub fn of_text(document: &Document, text: &str) -> Self {
        Self::run(document, text)
    }

    /// What a report of the check is made of.
    pub fn report(&self) -> (&Source, &[Diagnostic], &[String]) {
        let not_checked = self.checked.as_ref().map_or(&[][..], |c| &c.not_checked);
        (&self.source, &self.diagnostics, not_checked)
    }

    /// The plan, which must be without errors, with what it was checked under.
    pub fn checkup(&self) -> CheckedUnder<'_> {
        CheckedUnder {
            plan: self.plan(),
            catalog: &self.catalog,
            goal: &self.goal,
            worst: &self.checked.as_ref().expect("it was read").worst,
        }
    }

    /// The operations; none if the plan cannot be read.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The plan, which must be without errors.
    pub fn plan(&self) -> &CheckedPlan {
        let checked = self.checked.as_ref().and_then(|c| c.plan.as_ref());
        checked.unwrap_or_else(|| panic!("{}", self.drawn()))
    }

    /// The worst case, of a plan that could be read.
    pub fn worst(&self) -> &WorstCase {
        &self.checked.as_ref().expect("a readable plan").worst
    }

    pub fn is_checked(&self) -> bool {
        self.checked.as_ref().is_some_and(|c| c.plan.is_some())
    }

    pub fn findings(&self) -> Vec<Expected> {
        self.diagnostics
            .iter()
            .map(|d| {
                let (line, column) = self.source.position(d.span.start);
                let (line_end, column_end) = self.source.position(d.span.end);
                Expected {
                    code: d.code.to_string(),
                    place: format!("{line}:{column}-{line_end}:{column_end}"),
                    message: d.message.clone(),
                }
            })
            .collect()
    }

    pub fn drawn(&self) -> String {
        render(&self.source, &self.diagnostics, Style::default())
    }
}

/// What a plan is checked under: the blocks `yaml terms`, `yaml catalog` (operations of its own) or
/// `text catalog` (names of catalogs in `corpus/catalogs`), `yaml roles`, `json people`, `cedar`, `yaml previous`.
pub struct Setting {
    pub terms: Terms,
    pub origin: Origin,
    pub previous: Option<Plan>,
    pub settled: BTreeSet<String>,
    pub over: BTreeSet<String>,
}

type Rules = (Arc<Catalog>, Arc<Policy>);

/// The catalog and the policy of a file. Those that many files share are made once.
fn rules(document: &Document) -> Rules {
    static KNOWN: Mutex<BTreeMap<String, Rules>> = Mutex::new(BTreeMap::new());
    let blocks = [
        "yaml catalog",
        "text catalog",
        "cedar",
        "yaml roles",
        "json people",
    ]
    .map(|info| document.block(info));
    let key = format!("{blocks:?}");
    if let Some(known) = KNOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&key)
    {
        return known.clone();
    }
    let yaml = |text: &str| parse_yaml(text).expect("a readable block").to_value();
    let [own, named, cedar, roles, people] = blocks;
    let operations = match (own, named) {
        (Some(own), None) => yaml(own),
        (None, Some(named)) => catalogs::named(named),
        (None, None) => yaml(SHARED),
        (Some(_), Some(_)) => panic!("`yaml catalog` and `text catalog` exclude each other"),
    };
    let operations = operations.as_object().unwrap();
    let catalog = Catalog::new(operations.iter().map(|(name, op)| operation(name, op)));
    let roles = roles.map_or(json!({}), yaml);
    let roles = roles.as_object().unwrap().iter();
    let catalog = catalog.with_roles(roles.map(|(name, tools)| role(name, tools)));
    let people = Source::new("entities.json", people.unwrap_or(PEOPLE));
    let people = People::read(&people).expect("people");
    let sources = [Source::new("policy.cedar", cedar.unwrap_or(PERMISSIVE))];
    let policy = Policy::load(&catalog, &sources, &people)
        .unwrap_or_else(|found| panic!("the policy does not load: {found:?}"));
    let rules = (Arc::new(catalog), Arc::new(policy));
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(key, rules.clone());
    rules
}

impl Setting {
    pub fn of(document: &Document, plan: &Plan) -> Self {
        let yaml = |text: &str| parse_yaml(text).expect("a readable block").to_value();
        let terms = document.block("yaml terms").map_or(json!({}), yaml);
        let known = [
            "goal", "criteria", "params", "limits", "literals", "control", "settled", "over",
        ];
        for key in terms.as_object().unwrap().keys() {
            assert!(known.contains(&key.as_str()), "`{key}` is no term");
        }
        let (catalog, policy) = rules(document);
        Self {
            terms: Terms {
                catalog,
                policy,
                principal: Principal {
                    kind: PrincipalKind::User,
                    id: "ada".to_owned(),
                    groups: BTreeSet::new(),
                },
                limits: limits(&terms),
                goal: goal(&terms, plan),
            },
            origin: Origin {
                author: "corpus".to_owned(),
                literals: label(&terms["literals"]),
                control: label(&terms["control"]),
            },
            previous: document.block("yaml previous").map(|text| {
                read_plan(&Source::new("previous.yaml", text)).expect("a readable plan before")
            }),
            settled: ids(&terms["settled"]),
            over: ids(&terms["over"]),
        }
    }

    fn check(self, plan: Plan) -> Checked {
        let first = RevisionBase {
            revision: 1,
            ..RevisionBase::default()
        };
        let trusted = Origin {
            author: "corpus".to_owned(),
            literals: Label::trusted(),
            control: Label::trusted(),
        };
        let previous = self.previous.map(|plan| {
            let draft = Draft {
                plan: plan.into(),
                origin: trusted,
            };
            let checked = check(draft, &self.terms, &first);
            checked.plan.expect("a plan before without errors")
        });
        let base = RevisionBase {
            revision: 1 + u32::from(previous.is_some()),
            previous: previous.as_ref(),
            settled: self.settled,
            over: self.over,
            undoes: false,
        };
        let origin = self.origin;
        check(
            Draft {
                plan: plan.into(),
                origin,
            },
            &self.terms,
            &base,
        )
    }
}

/// `reader: [tickets.*]`
fn role(name: &str, tools: &Value) -> Role {
    Role {
        name: name.to_owned(),
        description: String::new(),
        tools: ids(tools),
    }
}

fn ids(list: &Value) -> BTreeSet<String> {
    let ids = list.as_array().into_iter().flatten();
    ids.map(|id| id.as_str().unwrap().to_owned()).collect()
}

const PEOPLE: &str = r#"{"users": {"ada": {"groups": []}, "bob": {"groups": ["oncall"]}}}"#;

fn goal(terms: &Value, plan: &Plan) -> Goal {
    let given = plan.goal.as_ref().map(|goal| goal.value.clone());
    let mut goal = given.unwrap_or(Goal {
        text: "Do what the corpus asks".to_owned(),
        success: Vec::new(),
        params: Map::new(),
        untrusted: false,
    });
    if let Some(text) = terms["goal"].as_str() {
        text.clone_into(&mut goal.text);
    }
    if let Some(criteria) = terms["criteria"].as_object() {
        goal.success = criteria
            .iter()
            .map(|(id, text)| Criterion {
                id: id.clone(),
                text: text.as_str().unwrap().to_owned(),
            })
            .collect();
    }
    if let Some(params) = terms["params"].as_object() {
        goal.params = params.clone();
    }
    goal
}

fn limits(terms: &Value) -> Limits {
    let mut value = json!(Limits::default());
    let optional = ["money", "tokens", "values"];
    for (name, limit) in terms["limits"].as_object().into_iter().flatten() {
        let known = value.get(name).is_some() || optional.contains(&name.as_str());
        assert!(known, "`{name}` is no limit");
        value[name] = limit.clone();
    }
    serde_json::from_value(value).unwrap()
}

fn label(value: &Value) -> Label {
    let integrity = match value.as_str() {
        None => Integrity::Trusted,
        Some("data") => Integrity::Data,
        Some("text") => Integrity::Text,
        Some(other) => panic!("`{other}` is no label"),
    };
    Label {
        integrity,
        ..Label::trusted()
    }
}

/// An operation in the short form of the corpus: `args` and `gives` list fields, `name?` may be
/// absent, a field is a type word or a JSON Schema; both maps are closed.
fn operation(name: &str, value: &Value) -> Operation {
    let known = [
        "effect",
        "tags",
        "args",
        "input",
        "gives",
        "output",
        "trusted",
        "secret",
        "accepts_secrets",
        "content",
        "idempotency",
        "timeout_s",
        "description",
        "cost",
        "values",
        "reconcile",
        "model",
        "query",
        "execute",
    ];
    for key in value.as_object().unwrap().keys() {
        assert!(
            known.contains(&key.as_str()),
            "`{key}` is no field of an operation"
        );
    }
    let word = value["effect"].as_str().expect("an effect");
    let effects: BTreeMap<&str, Effect> = Effect::WORDS.into_iter().collect();
    let texts = |key: &str| -> BTreeSet<String> {
        let list = value[key].as_array().into_iter().flatten();
        list.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let schema = |raw: &str, short: &str| match (value.get(raw), value.get(short)) {
        (Some(schema), None) => Some(Schema::compile(schema.clone()).unwrap()),
        (None, Some(fields)) => Some(Schema::compile(fields_schema(fields)).unwrap()),
        (None, None) => None,
        (Some(_), Some(_)) => panic!("`{raw}` and `{short}` exclude each other"),
    };
    let none = || Schema::compile(fields_schema(&json!({}))).unwrap();
    Operation {
        name: name.to_owned(),
        description: value["description"].as_str().unwrap_or_default().to_owned(),
        effect: effects[word],
        tags: texts("tags"),
        input: schema("input", "args").unwrap_or_else(none),
        output: schema("output", "gives"),
        trusted: value["trusted"] == json!(true),
        secret: value["secret"] == json!(true),
        accepts_secrets: value["accepts_secrets"] == json!(true),
        content: texts("content"),
        idempotency: match value["idempotency"].as_str() {
            None | Some("none") => Idempotency::None,
            Some("natural") => Idempotency::Natural,
            Some("key") => Idempotency::Key {
                carrier: KeyCarrier::Header("Idempotency-Key".to_owned()),
                ttl_ms: 86_400_000,
            },
            Some(other) => panic!("`{other}` is no idempotency"),
        },
        errors_no_effect: false,
        timeout: Duration::from_secs(value["timeout_s"].as_u64().unwrap_or(30)),
        max_bytes: 1 << 20,
        reconcile: value.get("reconcile").map(reconcile),
        preview: value.get("preview").map(|preview| {
            let preview = serde_json::from_value(preview.clone());
            preview.unwrap_or_else(|error| panic!("the preview of `{name}`: {error}"))
        }),
        creates: None,
        cost: value.get("cost").map(|cost| {
            let cost = serde_json::from_value(cost.clone());
            cost.unwrap_or_else(|error| panic!("the cost of `{name}`: {error}"))
        }),
        values: value.get("values").map_or_else(BTreeMap::new, |values| {
            serde_json::from_value(values.clone()).expect("a map of arguments")
        }),
        endpoint: match (
            value["model"].as_bool(),
            value.get("query"),
            value.get("execute"),
        ) {
            (Some(true), ..) => json!({ "kind": "model" }),
            (_, Some(query), _) => json!({ "statement": { "query": query } }),
            (_, _, Some(execute)) => json!({ "statement": { "execute": execute } }),
            _ => Value::Null,
        },
    }
}

/// `{ tool, args, landed, output, final_after_s }`
fn reconcile(value: &Value) -> Reconcile {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    Reconcile {
        tool: text("tool").expect("a tool"),
        args: value.get("args").cloned().unwrap_or_else(|| json!({})),
        landed: text("landed").expect("`landed`"),
        output: text("output"),
        final_after_ms: value["final_after_s"].as_u64().unwrap_or(30) * 1_000,
    }
}

fn fields_schema(fields: &Value) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, field) in fields.as_object().expect("a map of fields") {
        let plain = name.trim_end_matches('?');
        if plain == name {
            required.push(json!(plain));
        }
        properties.insert(plain.to_owned(), field_schema(field));
    }
    json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}

fn field_schema(field: &Value) -> Value {
    let word = |word: &str| match word {
        "list" => "array".to_owned(),
        "map" => "object".to_owned(),
        other => other.to_owned(),
    };
    match field {
        Value::String(text) if text == "any" => json!(true),
        Value::String(text) => json!({ "type": text.split('|').map(word).collect::<Vec<_>>() }),
        Value::Object(map) if map.contains_key("fields") => fields_schema(&map["fields"]),
        Value::Object(map) if map.contains_key("list") => {
            let mut schema = json!({ "type": "array", "items": field_schema(&map["list"]) });
            for (key, value) in map.iter().filter(|(key, _)| *key != "list") {
                schema[key] = value.clone();
            }
            schema
        }
        other => other.clone(),
    }
}
