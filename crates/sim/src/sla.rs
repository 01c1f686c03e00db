//! The data of the SLA workspace: tickets and the thresholds they are held against.
//!
//! Owns `tickets.db`. Never sends a page. INVARIANT: project PAY has exactly as many open tickets
//! as asked for.

use std::io;

use rusqlite::params;

use crate::rng::Rng;
use crate::sqlite;

/// Open PAY tickets in the committed example, above its threshold of 12.
pub const OPEN_IN_EXAMPLE: u32 = 17;

const SEED: u64 = 20_260_601;
/// Half a year before the last ticket, in seconds since 1970.
const FIRST_OPENED_S: i64 = 1_764_547_200;

const SCHEMA: &str = "
CREATE TABLE tickets (
  id TEXT PRIMARY KEY, project TEXT NOT NULL, title TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'waiting', 'closed')),
  priority TEXT NOT NULL CHECK (priority IN ('low', 'normal', 'high')),
  opened_at TEXT NOT NULL, closed_at TEXT
) WITHOUT ROWID;
CREATE TABLE sla (project TEXT PRIMARY KEY, max_open INTEGER NOT NULL) WITHOUT ROWID;";

const TITLES: [&str; 10] = [
    "Refund is shown twice in the statement",
    "Card is declined without a reason",
    "Invoice lacks the VAT number",
    "Search forgets its filters",
    "Page title is cut off",
    "Export stops after 1,000 rows",
    "Reminder is sent to the old address",
    "Total differs by one cent",
    "Login asks twice for the code",
    "Receipt cannot be downloaded",
];

/// Project, its number of tickets, how many are open, and how many may be.
const PROJECTS: [(&str, u32, u32, u32); 3] = [
    ("PAY", 74, OPEN_IN_EXAMPLE, 12),
    ("CORE", 61, 9, 15),
    ("WEB", 65, 23, 25),
];

/// The bytes of `tickets.db` with so many open PAY tickets.
pub fn database(open_pay: u32) -> io::Result<Vec<u8>> {
    sqlite::build(|db| {
        db.execute_batch(SCHEMA)?;
        let mut insert = db.prepare("INSERT INTO sla VALUES (?1, ?2)")?;
        for (project, _, _, max_open) in PROJECTS {
            insert.execute(params![project, max_open])?;
        }
        let mut insert = db.prepare("INSERT INTO tickets VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
        for (project, count, open, _) in PROJECTS {
            let open = if project == "PAY" { open_pay } else { open };
            for ticket in tickets(project, count.max(open), open) {
                let Ticket {
                    id,
                    title,
                    status,
                    priority,
                    opened_at,
                    closed_at,
                } = ticket;
                let row = params![id, project, title, status, priority, opened_at, closed_at];
                insert.execute(row)?;
            }
        }
        Ok(())
    })
}

struct Ticket {
    id: String,
    title: &'static str,
    status: &'static str,
    priority: &'static str,
    opened_at: String,
    closed_at: Option<String>,
}

fn tickets(project: &str, count: u32, open: u32) -> Vec<Ticket> {
    let mut rng = Rng::new(SEED, project);
    let mut is_open: Vec<bool> = (0..count).map(|index| index < open).collect();
    rng.shuffle(&mut is_open);
    let mut opened_s = FIRST_OPENED_S;
    (1..)
        .zip(is_open)
        .map(|(number, is_open)| {
            opened_s += rng.between(3_600, 280_000);
            let status = if is_open {
                "open"
            } else {
                rng.pick(&["closed", "closed", "waiting"])
            };
            let closed_s = opened_s + rng.between(1_800, 400_000);
            Ticket {
                id: format!("{project}-{number}"),
                title: rng.pick(&TITLES),
                status,
                priority: rng.pick(&["low", "normal", "normal", "high"]),
                opened_at: written(opened_s),
                closed_at: (status == "closed").then(|| written(closed_s)),
            }
        })
        .collect()
}

fn written(second: i64) -> String {
    jiff::Timestamp::from_second(second)
        .map(|at| at.to_string())
        .unwrap_or_default()
}
