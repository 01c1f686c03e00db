//! A write in flight while pages are read, people speak, files are read anew and servers die: it
//! is never lost, and never made twice.

use std::time::{Duration, Instant};

use serde_json::json;

use super::browser::Browser;
use super::desk::{Desk, answered};
use super::served::{Served, team, token};
use super::workplace::Workplace;

/// Everything that goes on at a server beside a write that is under way.
struct Beside<'a> {
    place: &'a Workplace,
    server: &'a Served,
    run: &'a str,
    card: &'a str,
    ada: &'a str,
    bo: &'a str,
}

impl Beside<'_> {
    fn read(&self) {
        let reader = Browser::of(self.server, self.place, "bo");
        for part in ["", "/steps/book", "/trace", "/plan", "/why"] {
            reader.open(&format!("/runs/{}{part}", self.run)).is(200);
            let path = format!("/v1/runs/{}{part}", self.run);
            self.server.get(self.bo, &path).is(200);
        }
    }

    fn say(&self) {
        let to = format!("POST /v1/runs/{}/statements", self.run);
        let say = |what| self.server.ask(self.bo, &to, &what);
        let approve = json!({ "kind": "approve", "card": self.card });
        assert_eq!(say(approve).is(409).problem(), "not-open");
        assert!(say(json!({ "kind": "pause", "reason": "wait" })).status < 300);
        assert!(say(json!({ "kind": "resume" })).status < 300);
        let settle = json!({
            "kind": "settle", "slot": { "step": "book" }, "settled": "did_not_happen",
            "reason": "nobody looked",
        });
        assert!(
            say(settle).status >= 400,
            "what is under way is in no doubt"
        );
    }

    /// The files change, and the server has them.
    fn reread(&self, round: usize) {
        let people = json!({
            "ada": {}, "bo": {}, "chi": { "groups": ["operators"] }, format!("dan{round}"): {},
        });
        self.place.people(people.as_object().unwrap());
        let dan = token(
            self.place,
            &format!("dan{round}"),
            &format!("dan{round}"),
            &[],
        );
        let began = Instant::now();
        while self.server.get(&dan, "/v1/me").status != 200 {
            assert!(began.elapsed() < Duration::from_secs(60), "not read anew");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn everything(&self, round: usize) {
        self.read();
        self.say();
        self.reread(round);
        self.read();
        let now = self.server.get(self.ada, &format!("/v1/runs/{}", self.run));
        assert_eq!(now.is(200).json()["status"], "running");
    }
}

#[test]
fn a_write_in_flight_is_neither_lost_nor_made_twice() {
    let place = team();
    let desk = Desk::of(&place);
    let [ada, bo] = ["ada", "bo"].map(|who| token(&place, who, who, &[]));
    let mut server = Served::of(&place);
    for (round, dies) in [false, true].into_iter().enumerate() {
        let run = server.begin(&ada, &format!("Book the desk for {round}"));
        let card = server.card(&ada, &run);
        let to = format!("POST /v1/runs/{run}/statements");
        let approve = json!({ "kind": "approve", "card": card });
        server.ask(&bo, &to, &approve).is(200);
        let call = desk.called();
        let beside = Beside {
            place: &place,
            server: &server,
            run: &run,
            card: &card,
            ada: &ada,
            bo: &bo,
        };
        beside.everything(round);
        if dies {
            server.kill();
            server = Served::of(&place);
            // Nobody knows whether it happened: nobody makes it again, and a person looks.
            server.until(&ada, &run, "in_doubt");
            assert!(desk.is_quiet(), "a write in doubt was made again");
            let settle = json!({
                "kind": "settle", "slot": { "step": "book" }, "settled": "happened",
                "output": { "free": false }, "reason": "the desk has it in its book",
            });
            server.ask(&bo, &to, &settle).is(200);
        }
        answered(call);
        server.until(&ada, &run, "succeeded");
        let path = format!("/v1/runs/{run}/events?limit=200");
        let events = server.get(&ada, &path).is(200).json();
        let begun = events["events"].as_array().unwrap().iter();
        let begun = begun
            .filter(|event| event["kind"] == "AttemptStarted")
            .count();
        assert_eq!(begun, 1);
    }
    assert!(desk.is_quiet(), "a write was made twice");
    place.run(&["audit", "verify"]).exits(0);
}
