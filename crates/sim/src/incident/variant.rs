//! The variants of the incident: what happened, to whom and when.
//!
//! Owns the base example and the twenty that the investigation is tried on. Never generates
//! data. INVARIANT: what a variant leaves open is decided by its seed alone.

use super::cause::Cause;

/// One setting of the incident.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub seed: u64,
    /// The day the data covers, such as `2026-05-12`.
    pub day: &'static str,
    /// The id of the service that the goal names.
    pub service: &'static str,
    pub event: Event,
    /// Other services answer 5xx now and then, as this one did before the rise.
    pub background_5xx: bool,
}

/// What happened to the service.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Nothing,
    Rise(Rise),
}

/// A rise in latency that lasts to the end of the day.
#[derive(Clone, Copy, Debug)]
pub struct Rise {
    pub cause: Cause,
    /// The minute of the day from which latency is up.
    pub minute: i64,
    /// The service was deployed some minutes before.
    pub deployed: bool,
    /// Requests fail with 5xx, their message being the cause's.
    pub with_5xx: bool,
    /// A past incident had the same cause.
    pub known: bool,
}

impl Variant {
    /// The committed example.
    pub fn base() -> Self {
        let rise = Rise {
            cause: Cause::ConnectionPool,
            minute: at(14, 7),
            deployed: true,
            with_5xx: false,
            known: true,
        };
        Self {
            seed: 20_260_512,
            day: "2026-05-12",
            service: "payment-api",
            event: Event::Rise(rise),
            background_5xx: false,
        }
    }

    /// The variant of that name: `base`, or `1` to `20`.
    pub fn named(name: &str) -> Option<Self> {
        if name == "base" {
            return Some(Self::base());
        }
        let number: usize = name.parse().ok()?;
        twenty().into_iter().nth(number.checked_sub(1)?)
    }

    /// The rise, where there is one.
    pub fn rise(&self) -> Option<Rise> {
        match self.event {
            Event::Nothing => None,
            Event::Rise(rise) => Some(rise),
        }
    }
}

/// Twenty variants over every service, cause and kind of event.
pub fn twenty() -> Vec<Variant> {
    use Cause::*;
    let days = [
        "2026-01-19",
        "2026-02-28",
        "2026-03-31",
        "2026-06-04",
        "2026-12-31",
    ];
    // service, cause and minute; deployed, with 5xx, known before; 5xx in the background
    let rises = [
        (
            "payment-api",
            RowLocks,
            at(9, 42),
            [true, false, true, false],
        ),
        (
            "payment-api",
            SlowUpstream,
            at(17, 3),
            [true, true, true, false],
        ),
        (
            "payment-api",
            ConnectionPool,
            at(22, 10),
            [false, false, true, true],
        ),
        (
            "checkout",
            CacheStampede,
            at(12, 0),
            [true, false, true, true],
        ),
        (
            "checkout",
            WorkerQueue,
            at(6, 31),
            [false, true, true, false],
        ),
        (
            "checkout",
            TlsHandshakes,
            at(19, 55),
            [true, false, false, false],
        ),
        (
            "identity",
            NameResolution,
            at(4, 18),
            [true, false, true, false],
        ),
        (
            "identity",
            ConnectionPool,
            at(11, 29),
            [false, false, false, true],
        ),
        ("identity", FullScan, at(20, 44), [true, true, false, true]),
        (
            "ledger-core",
            DiskSync,
            at(15, 16),
            [true, false, true, true],
        ),
        (
            "ledger-core",
            RowLocks,
            at(8, 5),
            [false, false, true, false],
        ),
        (
            "ledger-core",
            GarbageCollection,
            at(13, 37),
            [true, true, true, true],
        ),
        (
            "catalog-search",
            FullScan,
            at(10, 50),
            [true, false, true, false],
        ),
        (
            "catalog-search",
            GarbageCollection,
            at(18, 21),
            [false, false, true, true],
        ),
        (
            "notify-hub",
            WorkerQueue,
            at(16, 9),
            [true, false, true, true],
        ),
        (
            "notify-hub",
            SlowUpstream,
            at(5, 27),
            [true, false, false, false],
        ),
        (
            "notify-hub",
            NameResolution,
            at(21, 14),
            [false, true, true, true],
        ),
    ];
    let quiet = [
        ("payment-api", false),
        ("checkout", true),
        ("catalog-search", false),
    ];
    let rises = rises.into_iter().map(|(service, cause, minute, flags)| {
        let [deployed, with_5xx, known, background_5xx] = flags;
        let rise = Rise {
            cause,
            minute,
            deployed,
            with_5xx,
            known,
        };
        (service, Event::Rise(rise), background_5xx)
    });
    let quiet = quiet
        .into_iter()
        .map(|(service, background)| (service, Event::Nothing, background));
    rises
        .chain(quiet)
        .zip(days.into_iter().cycle())
        .zip(101_u64..)
        .map(|(((service, event, background_5xx), day), seed)| Variant {
            seed,
            day,
            service,
            event,
            background_5xx,
        })
        .collect()
}

/// The minute of the day.
const fn at(hour: i64, minute: i64) -> i64 {
    hour * 60 + minute
}
