//! Ten tasks over the simulated world: what is said of each, in three ways, and what must be so at
//! the end.

use serde_json::{Value, json};

/// An operation of the world.
pub struct Op {
    pub name: &'static str,
    pub description: &'static str,
    pub effect: &'static str,
    pub method: &'static str,
    pub path: &'static str,
    pub input: Value,
    pub output: Value,
}

#[expect(clippy::needless_pass_by_value, reason = "literals are handed over")]
fn object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object", "required": required, "properties": properties,
        "additionalProperties": false,
    })
}

/// The operations, of which every task may use all.
pub fn ops() -> Vec<Op> {
    let (text, count) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    let maybe = json!({ "type": ["string", "null"] });
    let comment = object(
        &["id", "text", "author", "key", "at"],
        json!({ "id": text, "text": text, "author": maybe, "key": maybe, "at": text }),
    );
    let ticket = object(
        &["id", "project", "title", "status", "comments"],
        json!({
            "id": text, "project": text, "title": text,
            "status": { "enum": ["open", "closed"] },
            "comments": { "type": "array", "items": comment },
        }),
    );
    let draft = json!({ "type": "object", "required": ["id"], "properties": { "id": text } });
    let of_id = object(&["id"], json!({ "id": text }));
    vec![
        Op {
            name: "tickets.list",
            description: "The tickets of a project with a status",
            effect: "read",
            method: "GET",
            path: "/tickets?project=${ args.project }&status=${ args.status }",
            input: object(
                &["project", "status"],
                json!({ "project": text, "status": text }),
            ),
            output: object(
                &["tickets", "total"],
                json!({ "tickets": { "type": "array", "items": ticket }, "total": count }),
            ),
        },
        Op {
            name: "tickets.get",
            description: "One ticket with its comments",
            effect: "read",
            method: "GET",
            path: "/tickets/${ args.id }",
            input: of_id.clone(),
            output: ticket,
        },
        Op {
            name: "tickets.comment",
            description: "Adds a comment to a ticket",
            effect: "write",
            method: "POST",
            path: "/tickets/${ args.id }/comments",
            input: object(&["id", "text"], json!({ "id": text, "text": text })),
            output: object(
                &["id", "ticket", "at"],
                json!({ "id": text, "ticket": text, "at": text }),
            ),
        },
        Op {
            name: "payments.get",
            description: "One payment, in cents, with what was given back of it",
            effect: "read",
            method: "GET",
            path: "/payments/${ args.id }",
            input: of_id.clone(),
            output: object(
                &["id", "customer", "amount", "currency", "refunded"],
                json!({
                    "id": text, "customer": text, "amount": count, "currency": text,
                    "refunded": count,
                }),
            ),
        },
        Op {
            name: "payments.refund",
            description: "Gives cents of a payment back to whoever paid",
            effect: "external",
            method: "POST",
            path: "/refunds",
            input: object(
                &["payment", "amount"],
                json!({ "payment": text, "amount": count }),
            ),
            output: json!({
                "type": "object", "required": ["id", "amount"],
                "properties": { "id": text, "amount": count },
            }),
        },
        Op {
            name: "pager.notify",
            description: "Pages whoever is on call in a team",
            effect: "external",
            method: "POST",
            path: "/pages",
            input: object(
                &["message", "team"],
                json!({ "message": text, "team": text }),
            ),
            output: object(
                &["id", "delivered", "at"],
                json!({ "id": text, "delivered": { "type": "boolean" }, "at": text }),
            ),
        },
        Op {
            name: "drafts.create",
            description: "Writes a new draft",
            effect: "write",
            method: "POST",
            path: "/drafts",
            input: object(&["title", "body"], json!({ "title": text, "body": text })),
            output: draft.clone(),
        },
        Op {
            name: "drafts.publish",
            description: "Shows a draft to its readers",
            effect: "external",
            method: "POST",
            path: "/drafts/${ args.id }/publish",
            input: of_id,
            output: draft,
        },
    ]
}

/// A call, and the words that go before it where the model reasons aloud.
pub struct Act {
    pub thought: &'static str,
    pub tool: &'static str,
    pub args: Value,
}

fn act(thought: &'static str, tool: &'static str, args: Value) -> Act {
    Act {
        thought,
        tool,
        args,
    }
}

/// A task: its plan, in the parts in which it can be known, and its calls one by one.
pub struct Task {
    pub goal: &'static str,
    /// The steps that are certain from the start.
    pub certain: Vec<Value>,
    /// Those that hang on what others show, as they can be known.
    pub rest: Vec<Vec<Value>>,
    /// The tools that the rest may call, and the highest effect of these.
    pub envelope: (&'static [&'static str], &'static str),
    /// The answer, an expression that is a text.
    pub answer: &'static str,
    /// The calls.
    pub acts: Vec<Act>,
    /// The answer in the end, of whoever reasons aloud.
    pub said: &'static str,
}

#[expect(clippy::needless_pass_by_value, reason = "literals are handed over")]
fn step(id: &str, about: &str, tool: &str, args: Value) -> Value {
    let mut step = json!({ "id": id, "description": about, "tool": tool, "args": args });
    let writes = ["tickets.comment", "payments.refund", "pager.notify"].contains(&tool);
    if writes || tool.starts_with("drafts.") {
        step["accept"] = json!(["${ output.id != \"\" }"]);
    }
    step
}

fn with(mut step: Value, field: &str, value: &str) -> Value {
    step[field] = json!(value);
    step
}

fn list(id: &str, project: &str, status: &str) -> Value {
    let args = json!({ "project": project, "status": status });
    step(id, "List its tickets", "tickets.list", args)
}

fn get(id: &str, ticket: &str) -> Value {
    step(
        id,
        "Read the ticket",
        "tickets.get",
        json!({ "id": ticket }),
    )
}

fn payment(id: &str, payment: &str) -> Value {
    step(
        id,
        "Read the payment",
        "payments.get",
        json!({ "id": payment }),
    )
}

fn listed(thought: &'static str, project: &str, status: &str) -> Act {
    act(
        thought,
        "tickets.list",
        json!({ "project": project, "status": status }),
    )
}

/// The tasks, the shortest first.
pub fn tasks() -> Vec<Task> {
    let mut all = looking();
    all.extend(writing());
    all.extend(long());
    all
}

fn looking() -> Vec<Task> {
    vec![
        Task {
            goal: "Say how many tickets of PAY are open",
            certain: vec![list("list", "PAY", "open")],
            rest: vec![],
            envelope: (&[], "read"),
            answer: "string(steps.list.output.total) + \" open\"",
            acts: vec![listed("I count them.", "PAY", "open")],
            said: "12 open",
        },
        Task {
            goal: "Say who paid pay-1, and how much",
            certain: vec![payment("paid", "pay-1")],
            rest: vec![],
            envelope: (&[], "read"),
            answer: "steps.paid.output.customer + \": \" + string(steps.paid.output.amount)",
            acts: vec![act(
                "I read the payment.",
                "payments.get",
                json!({ "id": "pay-1" }),
            )],
            said: "ana@example.com: 12900",
        },
        Task {
            goal: "Page the team pay if more than 10 tickets of PAY are open",
            certain: vec![list("list", "PAY", "open")],
            rest: vec![vec![with(
                step(
                    "page",
                    "Page the team",
                    "pager.notify",
                    json!({ "message": "${ steps.list.output.total } open", "team": "pay" }),
                ),
                "when",
                "${ steps.list.output.total > 10 }",
            )]],
            envelope: (&["pager.notify"], "external"),
            answer: "string(steps.list.output.total) + \" open\"",
            acts: vec![
                listed("I count them first.", "PAY", "open"),
                act(
                    "12 are more than 10, so I page.",
                    "pager.notify",
                    json!({ "message": "12 open", "team": "pay" }),
                ),
            ],
            said: "12 open",
        },
    ]
}

fn writing() -> Vec<Task> {
    let comment = |id: &str, ticket: &str, text: &str| {
        let args = json!({ "id": ticket, "text": text });
        step(id, "Say so on the ticket", "tickets.comment", args)
    };
    let refund = |id: &str, payment: &str, amount: Value| {
        let args = json!({ "payment": payment, "amount": amount });
        step(id, "Give it back", "payments.refund", args)
    };
    let said = |thought, ticket: &str, text: &str| {
        act(
            thought,
            "tickets.comment",
            json!({ "id": ticket, "text": text }),
        )
    };
    vec![
        Task {
            goal: "Ask for news on PAY-7 if it is open",
            certain: vec![get("ticket", "PAY-7")],
            rest: vec![vec![with(
                comment("ask", "PAY-7", "Any news?"),
                "when",
                "${ steps.ticket.output.status == \"open\" }",
            )]],
            envelope: (&["tickets.comment"], "write"),
            answer: "steps.ticket.output.status",
            acts: vec![
                act("I look at it.", "tickets.get", json!({ "id": "PAY-7" })),
                said("It is open, so I ask.", "PAY-7", "Any news?"),
            ],
            said: "open",
        },
        Task {
            goal: "Give back 2000 cents of pay-1 for PAY-3, if so much is left, and say so there",
            certain: vec![get("ticket", "PAY-3"), payment("paid", "pay-1")],
            rest: vec![vec![
                with(
                    refund("refund", "pay-1", json!(2000)),
                    "when",
                    "${ steps.ticket.output.status == \"open\" && \
                     steps.paid.output.amount - steps.paid.output.refunded >= 2000 }",
                ),
                with(
                    comment("tell", "PAY-3", "Given back."),
                    "when",
                    "${ steps.refund.status == \"succeeded\" }",
                ),
            ]],
            envelope: (&["payments.refund", "tickets.comment"], "external"),
            answer: "\"PAY-3 was \" + steps.ticket.output.status",
            acts: vec![
                act(
                    "I look at the ticket.",
                    "tickets.get",
                    json!({ "id": "PAY-3" }),
                ),
                act("Now the payment.", "payments.get", json!({ "id": "pay-1" })),
                act(
                    "Enough is left: I give it back.",
                    "payments.refund",
                    json!({ "payment": "pay-1", "amount": 2000 }),
                ),
                said("I say so.", "PAY-3", "Given back."),
            ],
            said: "PAY-3 was open",
        },
        Task {
            goal: "Publish a note with the titles of the closed tickets of WEB",
            certain: vec![list("list", "WEB", "closed")],
            rest: vec![vec![
                step(
                    "note",
                    "Write the note",
                    "drafts.create",
                    json!({
                        "title": "Closed",
                        "body": "${ join(steps.list.output.tickets.map(t, t.title), \"; \") }",
                    }),
                ),
                step(
                    "publish",
                    "Publish it",
                    "drafts.publish",
                    json!({ "id": "${ steps.note.output.id }" }),
                ),
            ]],
            envelope: (&["drafts.*"], "external"),
            answer: "\"published with \" + string(steps.list.output.total)",
            acts: vec![
                listed("I need the titles.", "WEB", "closed"),
                act(
                    "I write the note.",
                    "drafts.create",
                    json!({ "title": "Closed", "body": closed_titles() }),
                ),
                act(
                    "I publish it.",
                    "drafts.publish",
                    json!({ "id": "draft-1" }),
                ),
            ],
            said: "published with 6",
        },
    ]
}

fn long() -> Vec<Task> {
    let each = {
        let args = json!({ "id": "${ item.id }", "text": "Any news?" });
        let ask = step("ask", "Ask on each", "tickets.comment", args);
        with(ask, "for_each", "${ steps.list.output.tickets }")
    };
    let mut asking = vec![listed("I need the open ones.", "WEB", "open")];
    asking.extend((1..=6).map(|n| {
        let args = json!({ "id": format!("WEB-{n}"), "text": "Any news?" });
        act("I ask on the next one.", "tickets.comment", args)
    }));
    let five = ["PAY-1", "PAY-2", "WEB-1", "WEB-2", "OPS-1"];
    let names = ["a", "b", "c", "d", "e"];
    let first = |id: &str| {
        let comments = format!("steps.{id}.output.comments");
        format!("(size({comments}) > 0 ? {comments}[0].text : \"nothing\")")
    };
    let body: Vec<String> = names.iter().map(|id| first(id)).collect();
    let words: Vec<String> = five.iter().map(|id| words_on(id)).collect();
    let mut reading: Vec<Act> = (five.iter())
        .map(|id| act("I read the next one.", "tickets.get", json!({ "id": id })))
        .collect();
    reading.push(act(
        "I have all of them.",
        "drafts.create",
        json!({ "title": "What is said", "body": words.join(" / ") }),
    ));
    vec![
        Task {
            goal: "Ask for news on every open ticket of WEB",
            certain: vec![list("list", "WEB", "open")],
            rest: vec![vec![each]],
            envelope: (&["tickets.comment"], "write"),
            answer: "\"asked on \" + string(steps.list.output.total)",
            acts: asking,
            said: "asked on 6",
        },
        busiest(),
        Task {
            goal: "Write a draft of the first words on PAY-1, PAY-2, WEB-1, WEB-2 and OPS-1",
            certain: names
                .iter()
                .zip(five)
                .map(|(id, ticket)| get(id, ticket))
                .collect(),
            rest: vec![vec![step(
                "note",
                "Write it down",
                "drafts.create",
                json!({
                    "title": "What is said",
                    "body": format!("${{ join([{}], \" / \") }}", body.join(", ")),
                }),
            )]],
            envelope: (&["drafts.create"], "write"),
            answer: "\"the draft is \" + steps.note.output.id",
            acts: reading,
            said: "the draft is draft-1",
        },
        giving_back(),
    ]
}

fn busiest() -> Task {
    let total = |id: &str| format!("steps.{id}.output.total");
    let (pay, web, ops) = (total("pay"), total("web"), total("ops"));
    let team = format!(
        "${{ {pay} >= {web} && {pay} >= {ops} ? \"pay\" : ({web} >= {ops} ? \"web\" : \"ops\") }}"
    );
    Task {
        goal: "Page the team whose project has the most open tickets: PAY, WEB or OPS",
        certain: vec![
            list("pay", "PAY", "open"),
            list("web", "WEB", "open"),
            list("ops", "OPS", "open"),
        ],
        rest: vec![vec![step(
            "page",
            "Page the team",
            "pager.notify",
            json!({ "message": "you have the most", "team": team }),
        )]],
        envelope: (&["pager.notify"], "external"),
        answer: "\"paged: \" + steps.page.status",
        acts: vec![
            listed("First PAY.", "PAY", "open"),
            listed("Then WEB.", "WEB", "open"),
            listed("And OPS.", "OPS", "open"),
            act(
                "PAY has the most.",
                "pager.notify",
                json!({ "message": "you have the most", "team": "pay" }),
            ),
        ],
        said: "paged: succeeded",
    }
}

fn giving_back() -> Task {
    let payments = ["pay-1", "pay-2", "pay-3"];
    let names = ["one", "two", "three"];
    let amounts = [12_900, 4_500, 250_000];
    let back = |at: usize| {
        let left = format!("${{ steps.{}.output.amount }}", names[at]);
        let args = json!({ "payment": payments[at], "amount": left });
        let id = format!("back_{}", names[at]);
        step(&id, "Give all of it back", "payments.refund", args)
    };
    let sum = names.map(|id| format!("steps.back_{id}.output.amount"));
    let note = step(
        "note",
        "Write the sum down",
        "drafts.create",
        json!({ "title": "Given back", "body": format!("${{ string({}) }}", sum.join(" + ")) }),
    );
    let mut acts = Vec::new();
    for (id, amount) in payments.iter().zip(amounts) {
        acts.push(act(
            "I look what it was.",
            "payments.get",
            json!({ "id": id }),
        ));
        acts.push(act(
            "I give it back.",
            "payments.refund",
            json!({ "payment": id, "amount": amount }),
        ));
    }
    acts.push(act(
        "Now the sum.",
        "drafts.create",
        json!({ "title": "Given back", "body": "267400" }),
    ));
    Task {
        goal: "Give back all of pay-1, pay-2 and pay-3, and write the sum into a draft",
        certain: names
            .iter()
            .zip(payments)
            .map(|(id, of)| payment(id, of))
            .collect(),
        rest: vec![(0..3).map(back).collect(), vec![note]],
        envelope: (&["payments.refund", "drafts.create"], "external"),
        answer: "\"the draft is \" + steps.note.output.id",
        acts,
        said: "the draft is draft-1",
    }
}

/// What stands first on a ticket.
fn words_on(ticket: &str) -> String {
    format!(
        "Seen again on {ticket} this morning: three customers wrote in, one of them with a picture, \
         and the logs show nothing unusual around that time."
    )
}

fn title(project: &str, n: usize) -> String {
    format!("Customers of {project} report the fault number {n}")
}

fn closed_titles() -> String {
    let titles: Vec<String> = (7..=12).rev().map(|n| title("WEB", n)).collect();
    let mut titles = titles;
    // As the world lists them: by id, as texts.
    titles.sort_by_key(|title| title.rsplit(' ').next().unwrap_or_default().to_owned());
    titles.join("; ")
}

/// What the world knows at the start.
pub fn world() -> Value {
    let mut tickets = serde_json::Map::new();
    for (project, open, closed) in [("PAY", 12, 6), ("WEB", 6, 6), ("OPS", 5, 5)] {
        for n in 1..=(open + closed) {
            let id = format!("{project}-{n}");
            let status = if n <= open { "open" } else { "closed" };
            let comment = json!({
                "id": format!("{id}-comment-1"), "text": words_on(&id), "author": "ben",
                "key": null, "at": "2026-11-02T08:15:00.000Z",
            });
            let ticket = json!({
                "id": id, "project": project, "title": title(project, n), "status": status,
                "comments": [comment],
            });
            tickets.insert(id, ticket);
        }
    }
    let payment = |id: &str, customer: &str, amount: u64| {
        let payment = json!({
            "id": id, "customer": customer, "amount": amount, "currency": "EUR", "refunded": 0,
        });
        (id.to_owned(), payment)
    };
    let payments: serde_json::Map<String, Value> = [
        payment("pay-1", "ana@example.com", 12_900),
        payment("pay-2", "ben@example.com", 4_500),
        payment("pay-3", "chi@example.com", 250_000),
    ]
    .into_iter()
    .collect();
    json!({ "tickets": tickets, "payments": payments })
}
