//! Where a login is required: rows written straight into the journal, and vouchers that were changed.
//! None begins a call, each is named, by both verifiers, and no head is signed over it.
//!
//! `PROVOST_COUNT` says how many; the second verifier is asked of one of each kind, and of one in
//! [`SAMPLE`] as well.

use provost_engine::audit::AuditError;
use provost_engine::clock::now_ms;
use provost_engine::engine::Engine;
use provost_engine::keys::Signed;
use provost_engine::people::{
    EventRejection, Statement, StatementEnvelope, StatementError, StatementVia, Voucher,
};
use provost_engine::session::{DriveEnd, Unwatched};
use provost_run::event::Event;
use provost_run::state::State;

use super::forged::Dice;
use super::forged_rows::{assert_is_named, event_of, without_record};
use super::forger::Forger;
use super::place::{
    Place, RecordingWatcher, SERVER, audited, begin, card, count, drive, key, runtime, second, yes,
};

const SAMPLE: usize = 499;

/// How somebody had signed in.
fn via() -> StatementVia {
    StatementVia {
        door: "page".to_owned(),
        login: "oidc".to_owned(),
        issuer: Some("https://accounts.example.com".to_owned()),
        subject: Some("248289761001".to_owned()),
        since: now_ms() - 60_000,
    }
}

fn vouched(envelope: StatementEnvelope) -> StatementEnvelope {
    envelope.vouched_with(via(), &key(SERVER))
}

/// A run that waits for a yes, and another one.
fn waiting(engine: &Engine) -> [State; 2] {
    runtime().block_on(async {
        let (asked, other) = (begin(engine).await, begin(engine).await);
        let states = [asked.state().clone(), other.state().clone()];
        asked.release().await.unwrap();
        other.release().await.unwrap();
        states
    })
}

const KINDS: [&str; 16] = [
    "a yes that nobody made a statement of",
    "a yes without a voucher",
    "a yes with a login and no voucher",
    "a yes with the voucher of a key that is no server's",
    "a yes with a voucher that is not of the key it names",
    "a yes with the voucher signed for another purpose",
    "a yes with a byte of its voucher changed",
    "a yes changed after it was vouched for",
    "a yes whose login was changed",
    "a yes whose login was taken out",
    "a yes with the voucher of a yes to another run",
    "a yes with the voucher of a no",
    "a yes to another run",
    "a yes of who asked",
    "a yes that had lapsed",
    "a yes with a signature of nobody beside its voucher",
];

/// The envelope of a kind.
fn forge(
    engine: &Engine,
    [asked, other]: &[State; 2],
    kind: usize,
    dice: &mut Dice,
) -> StatementEnvelope {
    let who = ["bo", "eve", "dan"][dice.roll(3) as usize];
    let bare = || yes(engine, asked, who);
    let valid = || vouched(bare());
    match KINDS[kind] {
        "a yes without a voucher" => bare(),
        "a yes with a login and no voucher" => {
            let mut forged = bare();
            forged.via = Some(Box::new(via()));
            forged
        }
        "a yes with the voucher of a key that is no server's" => match dice.roll(2) {
            // Why a person's: their key is known, and vouches for nobody.
            0 => bare().vouched_with(via(), &key(who)),
            _ => bare().vouched_with(via(), &dice.key()),
        },
        "a yes with a voucher that is not of the key it names" => {
            let mut forged = bare().vouched_with(via(), &dice.key());
            forged.vouched.as_mut().unwrap().key = key(SERVER).public().to_string();
            forged
        }
        "a yes with the voucher signed for another purpose" => {
            let mut forged = bare();
            forged.via = Some(Box::new(via()));
            let what = [Signed::Statement, Signed::Head][dice.roll(2) as usize];
            let text = forged.to_text();
            forged.vouched = Some(Box::new(Voucher {
                key: key(SERVER).public().to_string(),
                signature: key(SERVER).sign(what, text.as_bytes()),
            }));
            forged
        }
        "a yes with a byte of its voucher changed" => {
            let mut forged = valid();
            let word = forged.vouched.as_mut().unwrap();
            let at = dice.roll(word.signature.len() as u64 - 4) as usize;
            let other = if word.signature.as_bytes()[at] == b'A' {
                "B"
            } else {
                "A"
            };
            word.signature.replace_range(at..=at, other);
            forged
        }
        "a yes changed after it was vouched for" => {
            let mut forged = valid();
            match dice.roll(5) {
                0 => forged.by = if who == "bo" { "eve" } else { "bo" }.to_owned(),
                1 => forged.nonce = format!("n{}", dice.roll(1 << 40)),
                2 => forged.expires_at += 1,
                3 => forged.said_at += 1,
                _ => forged.revision += 1,
            }
            forged
        }
        "a yes whose login was changed" => {
            let mut forged = valid();
            let login = forged.via.as_mut().unwrap();
            match dice.roll(5) {
                0 => login.door = "api".to_owned(),
                1 => login.login = format!("token t{}", dice.roll(1 << 40)),
                2 => login.issuer = None,
                3 => login.subject = Some(dice.roll(1 << 40).to_string()),
                _ => login.since += 1,
            }
            forged
        }
        "a yes whose login was taken out" => {
            let mut forged = valid();
            forged.via = None;
            forged
        }
        "a yes with the voucher of a yes to another run" => {
            let mut forged = valid();
            forged.vouched = vouched(yes(engine, other, who)).vouched;
            forged
        }
        "a yes with the voucher of a no" => {
            let mut forged = bare();
            forged.statement = Statement::Reject {
                card: card(asked),
                reason: "no".to_owned(),
                all: false,
            };
            let mut forged = vouched(forged);
            forged.statement = bare().statement;
            forged
        }
        "a yes to another run" => vouched(yes(engine, other, who)),
        "a yes of who asked" => vouched(yes(engine, asked, "ada")),
        "a yes that had lapsed" => {
            let mut forged = bare();
            forged.said_at -= 1 << 32;
            forged.expires_at = forged.said_at + i64::try_from(1 + dice.roll(1 << 30)).unwrap();
            vouched(forged)
        }
        "a yes with a signature of nobody beside its voucher" => valid().signed_with(&dice.key()),
        _ => bare(),
    }
}

/// Whoever wrote the row had only the file: what they wrote begins nothing.
#[test]
fn no_row_and_no_changed_voucher_begins_a_call_and_each_is_named() {
    let place = audited("login");
    let engine = place.engine();
    let runs = waiting(&engine);
    engine.sign_head().unwrap().unwrap();
    let inbox = engine.inbox();
    let forger = Forger::new(place.journal());
    let server = key(SERVER).public().to_string();
    let by_second = || second(&place, &["--voucher", &server]);
    // The control: a journal that nobody touched is believed, by both verifiers.
    let heard = inbox.verify_journal(engine.store(), 0).unwrap();
    assert_eq!(heard.contradictions, []);
    let (holds, said) = by_second();
    assert!(holds, "{said}");
    let run = &runs[0].head.run;
    let (all, mut made) = (count(1_040), [0usize; KINDS.len()]);
    for seed in 0..all {
        let kind = seed % KINDS.len();
        let mut dice = Dice(seed as u64);
        let envelope = forge(&engine, &runs, kind, &mut dice);
        let what = format!("seed {seed}, {}", KINDS[kind]);
        // As it would arrive: no machine hears of it.
        let heard = inbox.verify(&envelope, &runs[0], now_ms());
        let refused_by_machine = KINDS[kind] == "a yes of who asked";
        assert_eq!(heard.is_ok(), refused_by_machine, "{what}");
        let mut event = event_of(&runs[0], &envelope);
        if kind == 0 {
            event = without_record(&event);
        }
        let seq = forger.append(run, &[event]);
        assert_is_named(&engine, inbox, (run, seq), &what);
        if seed < KINDS.len() || seed % SAMPLE == 0 {
            engine.store().verify().unwrap();
            let signed = engine.sign_head();
            let refused = matches!(signed, Err(AuditError::JournalStatements(_)));
            assert!(refused, "{what}");
            let (holds, said) = by_second();
            let names = format!("event {seq} of run {run}");
            assert!(!holds && said.contains(&names), "{what}: {said}");
        }
        forger.put_back();
        made[kind] += 1;
    }
    for (kind, made) in KINDS.iter().zip(made) {
        println!("{made:>7} {kind}");
    }
    assert_eq!(place.count("AttemptStarted"), 0);
    assert!(!place.path("notes/note.txt").exists());
    // The control: the same row with the word of the server is believed, and the note is written.
    let row = event_of(&runs[0], &vouched(yes(&engine, &runs[0], "bo")));
    forger.append(run, &[row]);
    runtime().block_on(async {
        let mut session = engine.take_up(run, &mut Unwatched).await.unwrap();
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
    });
    assert!(place.path("notes/note.txt").exists());
}

#[test]
fn what_was_vouched_for_is_believed_by_both_and_counts_once() {
    let place = audited("login");
    let run = place.waiting();
    let engine = place.engine();
    let server = key(SERVER).public().to_string();
    let mut ear = RecordingWatcher::default();
    runtime().block_on(async {
        let mut session = engine.take_up(&run, &mut ear).await.unwrap();
        // Posted by who can write to the file, and by the server.
        let bare = yes(&engine, session.state(), "bo");
        let word = vouched(yes(&engine, session.state(), "bo"));
        for text in [bare.to_text(), word.to_text()] {
            engine.store().post(&run, &text, now_ms()).await.unwrap();
        }
        session.hear_posted(&mut ear).await.unwrap();
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
        session.release().await.unwrap();
        let became = engine.store().became(&run, &word.to_text()).unwrap();
        assert_eq!(became.as_deref(), Some("taken"));
    });
    let [ignored] = &ear.ignored[..] else {
        panic!("{:?}", ear.ignored);
    };
    assert!(ignored.contains("no server vouches"), "{ignored}");
    let heard = engine.inbox().verify_journal(engine.store(), 0).unwrap();
    assert_eq!((heard.runs, heard.contradictions), (1, Vec::new()));
    engine.sign_head().unwrap().unwrap();
    let (holds, said) = second(&place, &["--voucher", &server]);
    assert!(holds, "{said}");
    // Whoever does not know the server cannot tell whether it was its word.
    let (holds, said) = second(&place, &[]);
    assert!(!holds && said.contains("another server"), "{said}");
    let given = |(event, _): &&(Event, i64)| matches!(event, Event::ApprovalGiven { .. });
    let events = engine.read(&run).unwrap().events;
    let again = events.iter().find(given).unwrap().0.clone();
    Forger::new(place.journal()).append(&run, &[again]);
    let heard = engine.inbox().verify_journal(engine.store(), 0).unwrap();
    assert_eq!(heard.contradictions.len(), 1);
    assert!(!second(&place, &["--voucher", &server]).0);
}

/// A person's own key shows more than a login, and a login less than a key.
#[test]
fn a_signature_counts_where_a_login_is_enough_and_a_login_not_for_a_signature() {
    for (require, voucher, signature) in [
        ("nothing", true, true),
        ("login", true, true),
        ("signature", false, true),
    ] {
        let place = Place::new(require);
        let engine = place.engine();
        let [state, _] = waiting(&engine);
        let verify = |envelope: &StatementEnvelope| {
            let heard = engine.inbox().verify(envelope, &state, now_ms());
            heard.map(|_| ()).map_err(|error| error.to_string())
        };
        let bare = yes(&engine, &state, "bo");
        let heard = verify(&bare);
        assert_eq!(heard.is_ok(), require == "nothing", "{require}: {heard:?}");
        let heard = verify(&vouched(bare.clone()));
        assert_eq!(heard.is_ok(), voucher, "{require}: {heard:?}");
        let heard = verify(&bare.signed_with(&key("bo")));
        assert_eq!(heard.is_ok(), signature, "{require}: {heard:?}");
    }
}

/// What a run required when it began goes on being required, whatever the workspace says now.
#[test]
fn a_workspace_that_requires_less_or_more_does_not_change_what_a_run_needs() {
    let place = Place::new("login");
    let (run, other) = (place.waiting(), place.waiting());
    let stripped = place.engine().read(&other).unwrap().run.state().clone();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let now_requires = |require: &str| {
        let config = config.replace("\"login\"", &format!("\"{require}\""));
        place.write("provost.toml", &config);
        place.engine()
    };
    let lacks_voucher = |engine: &Engine| {
        let heard = engine.inbox().verify_journal(engine.store(), 0).unwrap();
        let found = heard.contradictions.into_iter().map(|found| found.reason);
        let unvouched = |reason: &EventRejection| {
            let lacks = StatementError::Unvouched {
                by: "bo".to_owned(),
            };
            *reason == EventRejection::Statement(lacks)
        };
        (
            heard.unsigned,
            found.map(|one| unvouched(&one)).collect::<Vec<_>>(),
        )
    };
    // Less: nothing new is heard without a login, and nothing that is written down counts.
    let engine = now_requires("nothing");
    let state = engine.read(&run).unwrap().run.state().clone();
    let bare = yes(&engine, &state, "bo");
    let heard = engine.inbox().verify(&bare, &state, now_ms());
    let by = "bo".to_owned();
    assert_eq!(heard.map(|_| ()), Err(StatementError::Unvouched { by }));
    let forger = Forger::new(place.journal());
    forger.append(&run, &[event_of(&state, &bare)]);
    assert_eq!(lacks_voucher(&engine), (0, vec![true]));
    forger.put_back();
    // The control: with a login it counts, and the run comes to its end.
    runtime().block_on(async {
        let mut session = engine.take_up(&run, &mut Unwatched).await.unwrap();
        let word = vouched(yes(&engine, session.state(), "bo"));
        session.hear(&word, &mut Unwatched).await.unwrap();
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
        session.release().await.unwrap();
    });
    assert_eq!(lacks_voucher(&engine), (0, Vec::new()));
    // More: what ended before signatures were required is not held to them, but to its login.
    drop(engine);
    let engine = now_requires("signature");
    assert_eq!(lacks_voucher(&engine), (1, Vec::new()));
    // A run that began under a login and looks as if it had ended before is no exception.
    let ended = engine.read(&run).unwrap().events.last().unwrap().0.clone();
    let bare = yes(&engine, &stripped, "bo");
    let forged = [event_of(&stripped, &bare), ended];
    Forger::new(place.journal()).append(&stripped.head.run, &forged);
    assert_eq!(lacks_voucher(&engine), (1, vec![true]));
}
