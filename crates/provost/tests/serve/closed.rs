//! A card that closes while somebody looks at it: the page says what became of it, what is said
//! about it does not count, and the journal has no event of it.

use std::time::Duration;

use serde_json::{Value, json};

use super::browser::{Browser, fields_of, text_of};
#[cfg(target_os = "linux")]
use super::clock::MovedClock;
use super::served::{Served, note, team, token};
use super::workplace::Workplace;

/// How a card closes, and what the page then says.
struct Way {
    name: &'static str,
    close: fn(&Closing<'_>),
    words: &'static [&'static str],
    /// The status that the run comes to then.
    ends: &'static str,
}

/// A run whose card bo looks at.
struct Closing<'a> {
    server: &'a Served,
    place: &'a Workplace,
    #[cfg(target_os = "linux")]
    clock: &'a MovedClock,
    run: String,
    card: String,
}

impl Closing<'_> {
    fn says(&self, who: &str, what: &Value) {
        let token = token(self.place, &format!("{who}-{}", self.run), who, &[]);
        let to = format!("POST /v1/runs/{}/statements", self.run);
        self.server.ask(&token, &to, what).is(200);
    }
}

const WAYS: &[Way] = &[
    Way {
        name: "approved",
        close: |of| of.says("chi", &json!({ "kind": "approve", "card": of.card })),
        words: &["Approved, at last by chi.", "<time datetime=\""],
        ends: "succeeded",
    },
    Way {
        name: "rejected",
        close: |of| {
            let no = json!({ "kind": "reject", "card": of.card, "reason": "not today" });
            of.says("chi", &no);
        },
        words: &["Rejected by chi: not today", "<time datetime=\""],
        ends: "rejected",
    },
    Way {
        name: "superseded",
        close: |of| {
            let ada = Browser::of(of.server, of.place, "ada");
            let to = format!("/runs/{}/amend", of.run);
            let page = ada.open(&to).is(200).body;
            let plan = text_of(&page, "<textarea id=\"plan\"");
            let goal = text_of(&page, "<textarea id=\"goal\"");
            let plan = plan.replace(" orders\"", " orders, counted by hand\"");
            let fields = [
                ("nonce", "0123456789"),
                ("revision", "1"),
                ("goal", &*goal),
                ("plan", &*plan),
                ("reason", "by hand"),
            ];
            ada.send(&to, &fields).is(303);
        },
        words: &[
            "It was superseded: another plan, or other terms, took its place.",
            ">What changed</a>",
            ">Look at what stands now</a>",
        ],
        ends: "waiting_approval",
    },
    Way {
        name: "cancelled",
        close: |of| of.says("chi", &json!({ "kind": "cancel", "reason": "no need" })),
        words: &["It was superseded"],
        ends: "cancelled",
    },
    #[cfg(target_os = "linux")]
    Way {
        name: "lapsed",
        close: |of| of.clock.pass(Duration::from_secs(31 * 60)),
        words: &["It lapsed: nobody answered in time.", "<time datetime=\""],
        ends: "expired",
    },
];

/// An answer is wanted in half an hour.
const IN_TIME: &str = r#"
@id("in-time")
@expires("30m")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect == "write" };
"#;

#[test]
fn a_card_that_closes_under_its_reader_takes_no_word() {
    let place = team();
    place.write("policies/time.cedar", IN_TIME);
    #[cfg(target_os = "linux")]
    let clock = MovedClock::new();
    #[cfg(target_os = "linux")]
    let server = Served::timed(&place, &clock);
    #[cfg(not(target_os = "linux"))]
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let bo = token(&place, "bo", "bo", &[]);
    // The control, and first because links end too: the forms of an open card are taken.
    let run = server.begin(&ada, &note("open"));
    let card = server.card(&ada, &run);
    let reader = Browser::of(&server, &place, "bo");
    let page = reader.open(&format!("/runs/{run}/cards/{card}")).is(200);
    let yes = fields_of(&page.body, "id=\"yes-form\"");
    // A button that was pressed twice, also once the run is over, says one thing.
    for _ in 0..2 {
        let said = said(&reader, &run, &yes, &[]).is(303);
        assert!(said.heads["location"].ends_with("?said=taken"), "{said:?}");
        server.until(&ada, &run, "succeeded");
    }
    for way in WAYS {
        let run = server.begin(&ada, &note(way.name));
        let of = Closing {
            server: &server,
            place: &place,
            #[cfg(target_os = "linux")]
            clock: &clock,
            card: server.card(&ada, &run),
            run,
        };
        closes(&of, way, &bo);
    }
    place.run(&["audit", "verify"]).exits(0);
}

/// Sends a form of a page, with what is typed into it.
fn said(
    reader: &Browser<'_>,
    run: &str,
    form: &[(String, String)],
    typed: &[(&str, &str)],
) -> super::served::Answer {
    let fields = form.iter();
    let fields = fields.map(|(name, value)| (name.as_str(), value.as_str()));
    let fields: Vec<_> = fields.chain(typed.iter().copied()).collect();
    reader.send(&format!("/runs/{run}/statements"), &fields)
}

fn closes(of: &Closing<'_>, way: &Way, bo: &str) {
    let (server, run, card) = (of.server, &of.run, &of.card);
    let path = format!("/runs/{run}/cards/{card}");
    let reader = Browser::of(server, of.place, "bo");
    let open = reader.open(&path).is(200).body;
    let yes = fields_of(&open, "id=\"yes-form\"");
    let no = fields_of(&open, "value=\"reject\"");
    (way.close)(of);
    let settled = || {
        let seen = server.get(bo, &format!("/v1/runs/{run}")).is(200).json();
        (seen["seq"].clone(), words_of(of))
    };
    // Why first: what follows from the decision is no event of what is said from here on.
    server.until(bo, run, way.ends);
    let page = reader.open(&path).is(200).body;
    let before = settled();
    let answers = [
        said(&reader, run, &yes, &[]),
        said(&reader, run, &yes, &[]),
        said(&reader, run, &no, &[("reason", "too late")]),
    ];
    for page in [page].iter().chain(answers.iter().map(|one| &one.body)) {
        for words in way.words {
            assert!(page.contains(words), "{}: no `{words}`: {page}", way.name);
        }
        assert!(!page.contains("id=\"decide\""), "{}: {page}", way.name);
    }
    for late in answers {
        assert!([409, 410].contains(&late.status), "{}: {late:?}", way.name);
        let words = "What you said does not count";
        assert!(late.body.contains(words), "{}: {late:?}", way.name);
        // A browser that reads this page anew does so where the card is.
        let found_at = format!("data-found-at=\"{path}\"");
        assert!(late.body.contains(&found_at), "{}: {late:?}", way.name);
    }
    // The same of a program.
    let to = format!("POST /v1/runs/{run}/statements");
    for kind in ["approve", "reject"] {
        let mut late = json!({ "kind": kind, "card": card });
        if kind == "reject" {
            late["reason"] = json!("too late");
        }
        let refused = server.ask(bo, &to, &late);
        let problem = (refused.status, refused.problem());
        let known = [(409, "not-open".to_owned()), (410, "lapsed".to_owned())];
        assert!(known.contains(&problem), "{}: {refused:?}", way.name);
    }
    let shown = server.get(bo, &format!("/v1/runs/{run}/cards/{card}"));
    if way.ends == "waiting_approval" {
        let stands = shown.is(410);
        assert_eq!(stands.problem(), "superseded");
        assert_eq!(stands.json()["stands"], server.card(bo, run));
    } else {
        let shown = shown.is(200).json();
        assert_eq!(
            (&shown["open"], &shown["may"]),
            (&json!(false), &json!(false))
        );
    }
    assert_eq!(settled(), before, "{}: an event, or a word kept", way.name);
}

/// How many words of people the journal keeps for a run.
fn words_of(of: &Closing<'_>) -> i64 {
    let journal = rusqlite::Connection::open(of.place.path(".provost/journal.db")).unwrap();
    let sql = "SELECT count(*) FROM posted_statements WHERE run = ?1";
    journal.query_row(sql, [&of.run], |row| row.get(0)).unwrap()
}

#[test]
fn a_stop_that_binds_nothing_is_refused() {
    let place = team();
    let server = Served::of(&place);
    let bo = token(&place, "bo", "bo", &[]);
    let why = json!({ "reason": "x" });
    let stop = |of: &str| server.ask(&bo, &format!("PUT /v1/stops/{of}"), &why);
    for (unbound, near) in [
        ("principal/adaa", "did you mean `ada`?"),
        ("tool/shap", "did you mean `shop`?"),
        ("playbook/fild", "did you mean `filed`?"),
    ] {
        let refused = stop(unbound).is(422);
        assert_eq!(refused.problem(), "binds-nothing");
        assert!(refused.body.contains(near), "{}", refused.body);
    }
    for bound in ["principal/ada", "tool/shop", "playbook/filed"] {
        stop(bound).is(200);
    }
}
