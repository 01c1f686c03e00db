//! `incidents/*.md` of a description: its past incidents among others.
//!
//! Owns the layout and the write-ups that every data set has. Never lets one of those tell of the
//! target's latency or bear a described message. INVARIANT: their ids lie below `INC-0200`, where
//! those of descriptions begin.

use super::super::clock::Clock;
use super::super::service::{SERVICES, Service};
use super::{Description, Past};

const FOLLOW_UPS: [&str; 4] = [
    "Add the check to the release template.",
    "Write down who owns the setting.",
    "Rehearse the rollback once a quarter.",
    "Alert on it before customers notice.",
];

/// Service, title, signature, symptom and cause of incidents that are never the day's.
const OTHERS: [[&str; 5]; 9] = [
    [
        "notify-hub",
        "The carrier's certificate had expired",
        "peer certificate has expired",
        "All messages were refused from one minute to the next.",
        "The renewal job had lost its permission.",
    ],
    [
        "catalog-search",
        "Search became slow after a schema change",
        "filter fell back to reading every row",
        "The p95 latency of the product search rose from 118 ms to 530 ms.",
        "A new filter could not use the index.",
    ],
    [
        "payment-api",
        "Charges in a wrong currency",
        "currency missing, using the default",
        "Eleven customers were charged in euros in place of francs. No request was slow.",
        "A default stood in for a missing field.",
    ],
    [
        "identity",
        "Nobody could log in for nine minutes",
        "signing key not found",
        "Logins failed with 401; the other services worked.",
        "A key was removed before its last token had expired.",
    ],
    [
        "checkout",
        "Baskets lost after a restart",
        "basket store is empty after start",
        "Baskets were empty for 4 percent of the customers.",
        "The store was in memory for half of the instances.",
    ],
    [
        "ledger-core",
        "The disk of the primary filled up",
        "no space left for the journal",
        "Writes failed with 500; reads went on.",
        "A debug log was left on over the weekend.",
    ],
    [
        "payment-api",
        "Receipts were sent twice",
        "receipt handed over a second time",
        "2100 customers got a receipt twice.",
        "A timeout at the queue was taken for a failure.",
    ],
    [
        "checkout",
        "Slow orders on a sales day",
        "worker queue is full, order parked",
        "The p95 latency of the checkout rose from 240 ms to 1900 ms for an hour.",
        "Exports shared the workers with orders.",
    ],
    [
        "notify-hub",
        "Messages arrived hours late",
        "consumer lag above the limit",
        "No request failed and none was slow, yet messages came late.",
        "One consumer stopped taking messages.",
    ],
];

/// The path and the bytes of every write-up.
pub fn files(description: &Description, clock: Clock) -> Vec<(String, Vec<u8>)> {
    let mut rng = description.rng("incidents");
    let mut days_ago = 640;
    let mut number = 100;
    let mut pasts = Vec::new();
    for [service, title, signature, symptom, cause] in OTHERS {
        number += rng.between(1, 9);
        days_ago -= rng.between(3, 18);
        pasts.push(Past {
            id: format!("INC-{number:04}"),
            title: title.to_owned(),
            service: service.to_owned(),
            date: clock.date_before(days_ago),
            signature: signature.to_owned(),
            symptom: symptom.to_owned(),
            cause: cause.to_owned(),
        });
    }
    pasts.extend(description.past.iter().cloned());
    let mut files = Vec::new();
    for past in &pasts {
        let (severity, minutes) = (rng.between(1, 3), rng.between(18, 210));
        let text = text(past, severity, minutes, rng.pick(&FOLLOW_UPS));
        files.push((format!("incidents/{}.md", past.id), text.into_bytes()));
    }
    files
}

fn text(past: &Past, severity: i64, minutes: i64, follow_up: &str) -> String {
    let Past {
        id,
        title,
        service,
        date,
        signature,
        symptom,
        cause,
    } = past;
    let of_service = SERVICES.iter().find(|known| known.id == service);
    let (name, team) = of_service.map_or(("", ""), |&Service { name, team, .. }| (name, team));
    format!(
        "---\nid: {id}\ntitle: {title}\ndate: {date}\nservice: {service}\nseverity: {severity}\n\
         signature: {signature}\n---\n\n# {title}\n\n## Symptom\n\n{symptom}\nIt lasted {minutes} \
         minutes. The {team} team, which runs the {name}, was called.\n\n## Cause\n\n{cause}\nThe \
         log said `{signature}`.\n\n## Fix\n\nThe change was taken back.\n\n## Follow-up\n\n- \
         {follow_up}\n"
    )
}
