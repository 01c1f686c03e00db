//! `incidents/*.md`: what went wrong before, as people wrote it up.
//!
//! Owns the layout of a write-up: front matter (id, title, date, service, severity, signature)
//! and the sections Symptom, Cause, Fix, Follow-up. Never describes the incident of the day.
//! INVARIANT: at most one write-up bears the signature of the day's cause; another tells of the
//! same service and symptom with a different cause.

use super::cause::{CAUSES, Cause};
use super::service::{SERVICES, Service};
use super::{Plot, SimilarIncident};
use crate::rng::Rng;

const FOLLOW_UPS: [&str; 5] = [
    "Review the alert thresholds of all services in the team.",
    "Add the check to the release template.",
    "Rehearse the rollback once a quarter.",
    "Write down who owns the setting.",
    "Show the signature on the team's board.",
];

/// Title, signature, symptom, cause and fix of incidents that were not about latency.
const OTHERS: [[&str; 5]; 4] = [
    [
        "An expired certificate stopped all clients",
        "peer certificate has expired",
        "All requests failed with 502 from one minute to the next.",
        "The renewal job had lost its permission three weeks before.",
        "Renew by hand, give the job its permission back, alert at 14 days.",
    ],
    [
        "The disk of the primary filled up",
        "no space left for the journal",
        "Writes failed with 500; reads went on.",
        "A debug log was left on over the weekend.",
        "Delete the log, limit its size, alert at 80 percent.",
    ],
    [
        "A switch was on for everybody",
        "price list is empty",
        "Orders could not be placed; the page answered 200 and showed nothing.",
        "A feature switch meant for testers was on by default.",
        "Turn the switch off; make testers a group.",
    ],
    [
        "Messages arrived hours late",
        "consumer lag above the limit",
        "No request failed and none was slow, yet messages came late.",
        "One consumer stopped taking messages and was not restarted.",
        "Restart it and let the health check look at the lag.",
    ],
];

/// A write-up, ready to be dated.
struct Writeup {
    title: String,
    service: &'static Service,
    signature: &'static str,
    symptom: String,
    cause: &'static str,
    fix: &'static str,
}

/// The files, and the past incident that the day's resembles.
pub fn files(plot: &Plot) -> (Vec<(String, Vec<u8>)>, Option<SimilarIncident>) {
    let mut rng = Rng::new(plot.variant.seed, "past incidents");
    let today = plot.variant.rise();
    let mut writeups = writeups(plot, &mut rng);
    rng.shuffle(&mut writeups);
    let mut number = 170 + rng.between(0, 20);
    let mut days_ago = 480;
    let mut similar = None;
    let mut files = Vec::new();
    for writeup in &writeups {
        number += rng.between(2, 9);
        days_ago -= rng.between(9, 33);
        let id = format!("INC-{number:04}");
        if today.is_some_and(|rise| rise.cause.facts().message == writeup.signature) {
            similar = Some(SimilarIncident {
                id: id.clone(),
                title: writeup.title.clone(),
            });
        }
        let text = written(&id, &plot.clock.date_before(days_ago), writeup, &mut rng);
        files.push((format!("incidents/{id}.md"), text.into_bytes()));
    }
    (files, similar)
}

fn writeups(plot: &Plot, rng: &mut Rng) -> Vec<Writeup> {
    let today = plot.variant.rise();
    let told = |cause: &Cause| today.is_none_or(|rise| rise.known || rise.cause != *cause);
    let mut decoy_told = false;
    let mut writeups: Vec<Writeup> = Vec::new();
    for cause in CAUSES.into_iter().filter(told) {
        let is_todays = today.is_some_and(|rise| rise.cause == cause);
        // Why: the decoy is the first other cause, and it struck the service of the day.
        let service = match (is_todays, decoy_told) {
            (false, false) => {
                decoy_told = true;
                plot.target
            }
            _ => another(plot.target, rng),
        };
        writeups.push(slow(cause, service, rng));
    }
    for [title, signature, symptom, cause, fix] in OTHERS {
        writeups.push(Writeup {
            title: title.to_owned(),
            service: another(plot.target, rng),
            signature,
            symptom: symptom.to_owned(),
            cause,
            fix,
        });
    }
    writeups
}

fn slow(cause: Cause, service: &'static Service, rng: &mut Rng) -> Writeup {
    let facts = cause.facts();
    let [_, usual, _] = service.usual_ms;
    let risen = usual * rng.between(24, 42) / 10;
    Writeup {
        title: facts.title.to_owned(),
        service,
        signature: facts.message,
        symptom: format!(
            "The p95 latency of the {} rose from {usual} ms to {risen} ms within a minute and \
             stayed there. No request failed.",
            service.name
        ),
        cause: facts.cause,
        fix: facts.fix,
    }
}

fn another(target: &Service, rng: &mut Rng) -> &'static Service {
    let start = usize::try_from(rng.between(0, 4)).unwrap_or(0);
    let mut others = SERVICES.iter().filter(|service| service.id != target.id);
    others.nth(start).unwrap_or(&SERVICES[0])
}

fn written(id: &str, date: &str, writeup: &Writeup, rng: &mut Rng) -> String {
    let Writeup {
        title,
        service,
        signature,
        symptom,
        cause,
        fix,
    } = writeup;
    let (service, name, team) = (service.id, service.name, service.team);
    let severity = rng.between(1, 3);
    let minutes = rng.between(18, 210);
    let follow_up = rng.pick(&FOLLOW_UPS);
    format!(
        "---\nid: {id}\ntitle: {title}\ndate: {date}\nservice: {service}\nseverity: {severity}\n\
         signature: {signature}\n---\n\n# {title}\n\n## Symptom\n\n{symptom}\nIt lasted {minutes} \
         minutes. The {team} team, which runs the {name}, was called.\n\n## Cause\n\n{cause}\nThe \
         log said `{signature}`, which it had not said before.\n\n## Fix\n\n{fix}\n\n## Follow-up\
         \n\n- {follow_up}\n"
    )
}
