//! The operations of the generated plans: every effect, every label, every kind of type.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use provost_plan::catalog::{Effect, Idempotency, KeyCarrier, Operation};
use provost_plan::schema::{Schema, SchemaError};
use serde_json::{Map, Value, json};

/// One row: name, effect, words (tags, `natural`, `key`, `trusted`, `secret`, `keeps`: it accepts
/// secrets, `adds-NAME`: its amount counts as that), arguments, content, output. A field is `name`
/// or `name?` and a word of [`field`].
type Row = (
    &'static str,
    Effect,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const ROWS: &[Row] = &[
    (
        "tickets.count",
        Effect::Read,
        "keeps",
        "project:text",
        "",
        "total:int",
    ),
    (
        "tickets.list",
        Effect::Read,
        "keeps",
        "project:text limit?:int",
        "",
        "total:int items:tickets",
    ),
    (
        "tickets.close",
        Effect::Write,
        "natural",
        "id:text note?:text",
        "note",
        "closed:bool",
    ),
    (
        "config.sla",
        Effect::Read,
        "trusted",
        "",
        "",
        "max:int mode:word contact:text",
    ),
    (
        "pager.notify",
        Effect::External,
        "trusted key",
        "message:text urgency?:word",
        "message",
        "delivered:bool",
    ),
    (
        "mail.send",
        Effect::External,
        "email",
        "to:text subject:text body?:text",
        "subject body",
        "id:text",
    ),
    (
        "db.update",
        Effect::Write,
        "",
        "id:text amount:int",
        "",
        "rows:int",
    ),
    (
        "db.delete",
        Effect::Destructive,
        "delete key",
        "id:text",
        "",
        "rows:int",
    ),
    (
        "db.purge",
        Effect::Destructive,
        "production",
        "id:text",
        "",
        "rows:int",
    ),
    (
        "bank.pay",
        Effect::External,
        "money key",
        "to:text amount:int",
        "",
        "receipt:id",
    ),
    (
        "bank.move",
        Effect::Write,
        "money",
        "to:text amount:int",
        "",
        "receipt:id",
    ),
    (
        "access.grant",
        Effect::Write,
        "permission natural",
        "user:text role:word",
        "",
        "ok:bool",
    ),
    (
        "deploy.start",
        Effect::Write,
        "deploy key",
        "version:text",
        "",
        "ok:bool",
    ),
    (
        "prod.set",
        Effect::Write,
        "production natural",
        "id:text",
        "",
        "ok:bool",
    ),
    (
        "web.fetch",
        Effect::Egress,
        "",
        "url:text",
        "",
        "code:int body:text",
    ),
    (
        "web.ping",
        Effect::Egress,
        "email",
        "url:text note?:text",
        "note",
        "code:int",
    ),
    (
        "vault.read",
        Effect::Read,
        "secret keeps",
        "name:text",
        "",
        "value:text uses:int",
    ),
    (
        "metrics.latency",
        Effect::Read,
        "keeps",
        "service:text",
        "",
        "peak?:int points:points meta:perhaps flag:bool day:date slug:slug long:long",
    ),
    (
        "notes.add",
        Effect::Write,
        "trusted keeps",
        "list:text text:text",
        "text",
        "ok:bool",
    ),
    (
        "ledger.post",
        Effect::Write,
        "key keeps adds-posted",
        "account:text amount:int",
        "account",
        "ok:bool",
    ),
    (
        "free.put",
        Effect::Write,
        "natural",
        "id?:text data?:free",
        "",
        "ok:bool",
    ),
    (
        "free.get",
        Effect::Read,
        "keeps",
        "data?:free",
        "",
        "blob:any",
    ),
    (
        "rates.get",
        Effect::Read,
        "trusted keeps",
        "pair:text",
        "",
        "eur:eur usd:usd most:eur rows:quotes",
    ),
    (
        "card.charge",
        Effect::Write,
        "key keeps adds-spent",
        "card:text amount:eur",
        "card",
        "ok:bool",
    ),
    (
        "card.refund",
        Effect::Write,
        "natural keeps adds-spent",
        "card:text amount:usd",
        "card",
        "ok:bool",
    ),
    (
        "desk.trade",
        Effect::Write,
        "natural keeps",
        "currency:currency amount:of-currency",
        "",
        "ok:bool",
    ),
    ("raw.get", Effect::Read, "keeps", "name:text", "", ""),
    (
        "old.drop",
        Effect::Write,
        "banned natural",
        "id:text",
        "",
        "ok:bool",
    ),
];

/// The operations, by name.
///
/// # Errors
/// [`SchemaError`] if a type of the table does not load.
pub fn operations() -> Result<BTreeMap<String, Operation>, SchemaError> {
    ROWS.iter()
        .map(|row| Ok((row.0.to_owned(), operation(row)?)))
        .collect()
}

/// The names of the operations.
#[must_use]
pub fn names() -> Vec<&'static str> {
    ROWS.iter().map(|row| row.0).collect()
}

/// The roles: one for each server, one that admits a single tool, and one that admits none.
#[must_use]
pub fn roles() -> BTreeMap<String, BTreeSet<String>> {
    let servers = names()
        .into_iter()
        .filter_map(|name| name.split('.').next());
    let all_of = |server: &str| (server.to_owned(), BTreeSet::from([format!("{server}.*")]));
    let mut roles: BTreeMap<_, _> = servers.map(all_of).collect();
    let one = BTreeSet::from(["tickets.count".to_owned()]);
    roles.insert("one_read".to_owned(), one);
    roles.insert("nothing".to_owned(), BTreeSet::new());
    roles
}

fn operation(row: &Row) -> Result<Operation, SchemaError> {
    let (name, effect, words, args, content, output) = *row;
    let words: Vec<&str> = words.split_whitespace().collect();
    let says = |word: &str| words.contains(&word);
    let marks = ["natural", "key", "trusted", "secret", "keeps"];
    let adds = |word: &&str| word.strip_prefix("adds-").map(str::to_owned);
    let tags = words
        .iter()
        .filter(|word| !marks.contains(word) && adds(word).is_none());
    let values = words.iter().filter_map(adds);
    let output = match output {
        "" => None,
        fields => Some(Schema::compile(object(fields))?),
    };
    Ok(Operation {
        name: name.to_owned(),
        description: String::new(),
        effect,
        tags: tags.map(|tag| (*tag).to_owned()).collect(),
        input: Schema::compile(object(args))?,
        output,
        trusted: says("trusted"),
        secret: says("secret"),
        accepts_secrets: says("keeps"),
        content: content.split_whitespace().map(str::to_owned).collect(),
        idempotency: if says("natural") {
            Idempotency::Natural
        } else if says("key") {
            Idempotency::Key {
                carrier: KeyCarrier::Header("Idempotency-Key".to_owned()),
                ttl_ms: 86_400_000,
            }
        } else {
            Idempotency::None
        },
        errors_no_effect: false,
        timeout: Duration::from_secs(10),
        max_bytes: 1 << 20,
        reconcile: None,
        preview: None,
        creates: None,
        values: values.map(|name| (name, "amount".to_owned())).collect(),
        cost: None,
        endpoint: Value::Null,
    })
}

fn object(fields: &str) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for written in fields.split_whitespace() {
        let (name, word) = written.split_once(':').unwrap_or((written, "any"));
        let plain = name.trim_end_matches('?');
        if plain == name {
            required.push(json!(plain));
        }
        properties.insert(plain.to_owned(), field(word));
    }
    json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}

fn field(word: &str) -> Value {
    let list = |fields| json!({ "type": "array", "items": object(fields) });
    match word {
        "int" => json!({ "type": "integer" }),
        "eur" => json!({ "type": "integer", "minimum": 0, "maximum": 500, "x-unit": "EUR" }),
        "usd" => json!({ "type": "integer", "x-unit": "USD" }),
        "of-currency" => json!({ "type": "integer", "x-unit": { "from": "currency" } }),
        "currency" => json!({ "enum": ["EUR", "USD"] }),
        "quotes" => list("price:eur at:date"),
        "bool" => json!({ "type": "boolean" }),
        "text" => json!({ "type": "string" }),
        "word" => json!({ "enum": ["low", "high"] }),
        "id" => json!({ "type": "string", "pattern": "^[A-Z]{2,8}-[0-9]{1,6}$" }),
        "slug" => json!({ "type": "string", "pattern": "^[a-z ]{1,20}$" }),
        "long" => json!({ "type": "string", "pattern": "^[a-z]{1,80}$" }),
        "date" => json!({ "type": "string", "format": "date" }),
        "perhaps-text" => json!({ "type": ["string", "null"] }),
        "free" => json!({ "type": "object" }),
        "tickets" => list("id:id subject:text owner:perhaps-text priority:word due?:date"),
        "points" => list("at:date p95:int"),
        "perhaps" => {
            let mut schema = object("k:int note:text");
            if let Some(fields) = schema.as_object_mut() {
                fields.insert("type".to_owned(), json!(["object", "null"]));
            }
            schema
        }
        _ => json!(true),
    }
}
