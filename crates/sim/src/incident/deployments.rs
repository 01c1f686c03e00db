//! Who deployed what and when, over two weeks.
//!
//! Owns the deployment history. Never says which deployment is guilty. INVARIANT: where a rise
//! has a deployment near, another service was deployed nearer still; where it has none, the
//! service's last deployment lies at least eight hours before.

use super::clock::DAY_MINUTES;
use super::service::{SERVICES, Service};
use super::variant::Variant;
use crate::rng::Rng;

const HISTORY_DAYS: i64 = 14;
const AUTHORS: [&str; 7] = ["amara", "bruno", "chen", "dilek", "emil", "farah", "greta"];
const NOTES: [&str; 10] = [
    "Update dependencies",
    "Show the currency in list views",
    "Remove an unused endpoint",
    "Log the client version",
    "Fix a typing error in a message",
    "Translate the error page",
    "Add a metric for queue length",
    "Tidy the handlers",
    "Raise the test coverage",
    "Rename a configuration key",
];

/// A version that went live.
#[derive(Clone, Debug)]
pub struct Deployment {
    pub service: &'static Service,
    pub version: String,
    /// Seconds since the day began, negative before it.
    pub second: i64,
    pub author: &'static str,
    pub note: &'static str,
}

/// The history of all services, oldest first.
pub fn history(variant: &Variant, target: &'static Service) -> Vec<Deployment> {
    let mut rng = Rng::new(variant.seed, "deployments");
    let mut moments: Vec<(i64, &'static Service, &'static str)> = Vec::new();
    for service in &SERVICES {
        for day in -HISTORY_DAYS..0 {
            if rng.permille(300) {
                let second = (day * DAY_MINUTES + rng.between(8 * 60, 16 * 60)) * 60;
                moments.push((second + rng.between(0, 59), service, rng.pick(&NOTES)));
            }
        }
    }
    moments.extend(on_the_day(variant, target, &mut rng));
    moments.sort_by_key(|(second, service, _)| (*second, service.id));
    let mut minors: Vec<i64> = SERVICES
        .iter()
        .map(|service| service.first_version.1)
        .collect();
    moments
        .into_iter()
        .map(|(second, service, note)| {
            let minor = SERVICES
                .iter()
                .zip(&mut minors)
                .find(|(other, _)| other.id == service.id)
                .map_or(0, |(_, minor)| {
                    *minor += 1;
                    *minor
                });
            Deployment {
                service,
                version: format!("{}.{minor}.{}", service.first_version.0, rng.between(0, 3)),
                second,
                author: rng.pick(&AUTHORS),
                note,
            }
        })
        .collect()
}

/// The deployments of the day itself: the near one, the decoys, and one without consequence.
fn on_the_day(
    variant: &Variant,
    target: &'static Service,
    rng: &mut Rng,
) -> Vec<(i64, &'static Service, &'static str)> {
    let others: Vec<&'static Service> = SERVICES
        .iter()
        .filter(|service| service.id != target.id)
        .collect();
    let other = |index: i64| {
        let index = usize::try_from(index).unwrap_or(0) % others.len();
        others.get(index).copied().unwrap_or(target)
    };
    let first = rng.between(0, 4);
    let mut moments = Vec::new();
    let Some(rise) = variant.rise() else {
        moments.push((rng.between(9 * 60, 15 * 60) * 60, target, rng.pick(&NOTES)));
        moments.push((
            rng.between(9 * 60, 15 * 60) * 60,
            other(first),
            rng.pick(&NOTES),
        ));
        return moments;
    };
    let rise_s = rise.minute * 60;
    if rise.deployed {
        moments.push((
            rise_s - rng.between(190, 560),
            target,
            rise.cause.facts().note,
        ));
    }
    moments.push((
        rise_s - rng.between(40, 110),
        other(first),
        rng.pick(&NOTES),
    ));
    moments.push((
        rise_s - rng.between(2_400, 5_000),
        other(first + 1),
        rng.pick(&NOTES),
    ));
    let later = rise_s + rng.between(1_500, 4_000);
    if later < DAY_MINUTES * 60 {
        moments.push((later, target, rng.pick(&NOTES)));
    }
    moments
}
