//! Forged, replayed, borrowed and belated words, made from seeds: none is accepted.
//!
//! `PROVOST_COUNT` says how many; each failure prints its seed.

use provost_engine::clock::now_ms;
use provost_engine::engine::Engine;
use provost_engine::keys::{PrivateKey, Signed};
use provost_engine::people::{Credential, Inbox, Signature, Statement, StatementEnvelope};
use provost_plan::digest::{Digest, Domain};
use provost_plan::policy::People;
use provost_plan::source::Source;
use provost_run::event::Event;
use provost_run::machine::Run;

use super::place::{Place, begin, card, count, key, runtime, yes};

/// A small generator: the same seed gives the same words.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) % sides
    }

    pub fn key(&mut self) -> PrivateKey {
        let mut seed = [0; 32];
        for byte in &mut seed {
            *byte = u8::try_from(self.roll(256)).unwrap();
        }
        PrivateKey::from_seed(&seed).unwrap()
    }
}

/// A run that waits, another one, and what words to it are held to.
struct Court {
    run: Run,
    other: Run,
    inbox: Inbox,
    revoked: Inbox,
    valid: StatementEnvelope,
    elsewhere: StatementEnvelope,
}

impl Court {
    fn open(place: &Place, engine: &Engine) -> Self {
        let (run, other) = runtime().block_on(async {
            let (one, two) = (begin(engine).await, begin(engine).await);
            (one.state().head.run.clone(), two.state().head.run.clone())
        });
        let (run, other) = (
            engine.read(&run).unwrap().run,
            engine.read(&other).unwrap().run,
        );
        let valid = yes(engine, run.state(), "bo").signed_with(&key("bo"));
        let elsewhere = yes(engine, other.state(), "bo").signed_with(&key("bo"));
        let _ = place;
        // Why eve's key: whoever is revoked may have another key, which is not the one used.
        let people = r#"{"users": {"ada": {}, "bo": {}, "eve": {}}}"#;
        let people = People::read(&Source::new("entities.json", people)).unwrap();
        let inbox = engine.inbox().clone();
        Self {
            revoked: Inbox::new(
                inbox.store().to_owned(),
                people,
                Credential::Signature.into(),
            ),
            run,
            other,
            inbox,
            valid,
            elsewhere,
        }
    }

    /// Whether a word, as it comes over the wire, opens the gate of the run.
    fn accepts(&self, inbox: &Inbox, run: &Run, text: &str, now: i64) -> bool {
        let mut run = run.clone();
        let Ok(word) = StatementEnvelope::read(text) else {
            return false;
        };
        let Ok(input) = inbox.verify(&word, run.state(), now) else {
            return false;
        };
        run.hold();
        let given = |event: &Event| matches!(event, Event::ApprovalGiven { .. });
        run.step(input, now)
            .is_ok_and(|output| output.append.iter().any(given))
    }

    /// The run after the valid word was taken.
    fn after(&self, now: i64) -> Run {
        let mut run = self.run.clone();
        run.hold();
        let input = self.inbox.verify(&self.valid, run.state(), now).unwrap();
        run.step(input, now).unwrap();
        run
    }
}

const KINDS: [&str; 14] = [
    "signature changed",
    "field changed after signing",
    "key of nobody",
    "key of another person",
    "signed for another purpose",
    "not signed",
    "given by who asked",
    "for another run",
    "for another workspace",
    "lapsed, early or living too long",
    "for another card or revision",
    "for a step that is not on the card",
    "revoked",
    "byte changed in the text",
];

/// A word of a kind, who judges it, and at what moment.
fn forge(court: &Court, kind: usize, dice: &mut Dice, now: i64) -> (String, i64) {
    let mut word = court.valid.clone();
    let bo = key("bo");
    match KINDS[kind] {
        "signature changed" => {
            let signed = word.signed.as_mut().unwrap();
            let at = usize::try_from(dice.roll(86)).unwrap();
            let old = signed.signature.as_bytes()[at];
            let new = if old == b'A' { "B" } else { "A" };
            signed.signature.replace_range(at..=at, new);
        }
        "field changed after signing" => change(&mut word, dice),
        "key of nobody" => {
            let own = dice.key();
            word = word.signed_with(&own);
            if dice.roll(2) == 0 {
                word.signed.as_mut().unwrap().key = bo.public().to_string();
            }
        }
        "key of another person" => {
            word = word.signed_with(&key(["ada", "eve", "dan"][dice.roll(3) as usize]));
        }
        "signed for another purpose" => {
            word.signed = Some(Signature {
                key: bo.public().to_string(),
                signature: bo.sign(Signed::Head, &word.bytes()),
            });
        }
        "not signed" => word.signed = None,
        "given by who asked" => {
            word.by = "ada".to_owned();
            word = word.signed_with(&key("ada"));
        }
        "for another run" => {
            if dice.roll(2) == 0 {
                word = court.elsewhere.clone();
            } else {
                word.statement = court.elsewhere.statement.clone();
                word = word.signed_with(&bo);
            }
        }
        "for another workspace" => {
            word.store = format!("{:012}", dice.roll(1 << 40));
            word = word.signed_with(&bo);
        }
        "lapsed, early or living too long" => {
            match dice.roll(3) {
                0 => word.expires_at = now - i64::try_from(dice.roll(1 << 30)).unwrap(),
                1 => word.said_at = now + 300_001 + i64::try_from(dice.roll(1 << 30)).unwrap(),
                _ => word.expires_at = now + (31 << 32),
            }
            word = word.signed_with(&bo);
        }
        "for another card or revision" => {
            if dice.roll(2) == 0 {
                let bytes = dice.roll(u64::MAX).to_le_bytes();
                word.statement = Statement::Approve {
                    card: Digest::of_bytes(Domain::Card, &bytes),
                    steps: Vec::new(),
                };
            } else {
                word.revision = 2 + u32::try_from(dice.roll(1 << 20)).unwrap();
            }
            word = word.signed_with(&bo);
        }
        "for a step that is not on the card" => {
            word.statement = Statement::Approve {
                card: card(court.run.state()),
                steps: vec![format!("note{}", dice.roll(1 << 20))],
            };
            word = word.signed_with(&bo);
        }
        "revoked" => {}
        _ => return (scratched(&word.to_text(), dice), now),
    }
    (word.to_text(), now)
}

/// Changes one field and leaves the signature as it was.
fn change(word: &mut StatementEnvelope, dice: &mut Dice) {
    let n = i64::try_from(1 + dice.roll(1 << 20)).unwrap();
    match dice.roll(8) {
        0 => word.by = ["eve", "dan", "ada", "zoe"][dice.roll(4) as usize].to_owned(),
        1 => word.nonce = format!("n{n}"),
        2 => word.said_at -= n,
        3 => word.expires_at += n,
        4 => word.revision += u32::try_from(n).unwrap(),
        5 => word.store.push('x'),
        6 => {
            word.statement = Statement::Approve {
                card: word.statement.card().unwrap(),
                steps: vec!["note".to_owned()],
            };
        }
        _ => {
            word.statement = Statement::Reject {
                card: word.statement.card().unwrap(),
                reason: String::new(),
                all: false,
            };
        }
    }
}

/// The text with one byte changed to another that may stand there.
fn scratched(text: &str, dice: &mut Dice) -> String {
    let mut bytes = text.as_bytes().to_vec();
    loop {
        let at = usize::try_from(dice.roll(bytes.len() as u64)).unwrap();
        let new = b' ' + u8::try_from(dice.roll(95)).unwrap();
        if bytes[at] != new {
            bytes[at] = new;
            return String::from_utf8(bytes).unwrap();
        }
    }
}

#[test]
fn no_forged_replayed_or_borrowed_yes_is_accepted() {
    let place = Place::new("signature");
    let engine = place.engine();
    let court = Court::open(&place, &engine);
    let now = now_ms();
    let valid = court.valid.to_text();
    assert!(
        court.accepts(&court.inbox, &court.run, &valid, now),
        "the control"
    );
    let after = court.after(now);
    assert!(
        !court.accepts(&court.inbox, &after, &valid, now),
        "replayed"
    );
    assert!(
        !court.accepts(&court.inbox, &court.other, &valid, now),
        "given elsewhere"
    );
    let all = count(1_400);
    let mut made = [0usize; KINDS.len()];
    let mut accepted = Vec::new();
    for seed in 0..all {
        let kind = seed % KINDS.len();
        let mut dice = Dice(seed as u64);
        let (text, now) = forge(&court, kind, &mut dice, now);
        // Why not it: a byte changed inside the text may spell the same word another way.
        let same = StatementEnvelope::read(&text).is_ok_and(|word| word == court.valid);
        if same && KINDS[kind] != "revoked" {
            continue;
        }
        made[kind] += 1;
        let inbox = if KINDS[kind] == "revoked" {
            &court.revoked
        } else {
            &court.inbox
        };
        // Why not that one: the word of the other run may be good there.
        let other = (KINDS[kind] != "for another run").then_some(&court.other);
        let mut runs = [&court.run, &after].into_iter().chain(other);
        if runs.any(|run| court.accepts(inbox, run, &text, now)) {
            accepted.push(format!("seed {seed}, {}: {text}", KINDS[kind]));
        }
    }
    for (kind, made) in KINDS.iter().zip(made) {
        println!("{made:>7} {kind}");
        assert!(made > 0, "none was made: {kind}");
    }
    println!(
        "accepted: {} of {}",
        accepted.len(),
        made.iter().sum::<usize>()
    );
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}
