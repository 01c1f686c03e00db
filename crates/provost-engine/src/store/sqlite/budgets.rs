//! What all runs reserved and spent, by period, held against the events that it follows from.
//!
//! Owns the table `budgets`: a row for each day, each month and all time, whether a budget is set
//! or not. Decides nothing: whether there is room is [`provost_run::admission`]'s. INVARIANT: no
//! process relies on it before it tells what the events of all runs tell.

use std::collections::BTreeMap;

use provost_plan::money::Money;
use provost_run::admission::{Period, Spent};
use provost_run::event::Event;
use provost_run::spending::Spending;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::read::{EventRow, EventsOfKinds, RunEnd};
use super::{Store, StoreError, payloads};

/// Money in millionths and tokens, by period.
pub(super) type Budgets = BTreeMap<String, (u64, u64)>;

/// Counts what an event says was taken, after what it gives back.
pub(super) fn count(connection: &Connection, spent: &Spent) -> rusqlite::Result<()> {
    for period in Period::names_at(spent.at_ms) {
        connection
            .prepare_cached(
                "INSERT INTO budgets VALUES ('workspace', ?1, ?4, ?5) ON CONFLICT DO UPDATE \
                 SET money = max(money - ?2, 0) + ?4, tokens = max(tokens - ?3, 0) + ?5",
            )?
            .execute(params![
                period,
                spent.money_back.millionths(),
                spent.tokens_back,
                spent.money.millionths(),
                spent.tokens
            ])?;
    }
    Ok(())
}

/// What is reserved and spent of the workspace's budget in a period.
pub(super) fn spent(connection: &Connection, period: &str) -> rusqlite::Result<(Money, u64)> {
    let row = connection
        .prepare_cached(
            "SELECT money, tokens FROM budgets WHERE name = 'workspace' AND period = ?1",
        )?
        .query_row([period], |row| Ok((row.get::<_, u64>(0)?, row.get(1)?)))
        .optional()?;
    let (money, tokens) = row.unwrap_or_default();
    Ok((Money::from_millionths(money), tokens))
}

/// Takes an event into what its run counts, and that into `budgets`. Events that count nothing are
/// not read.
pub(super) fn apply(
    spending: &mut Spending,
    budgets: &mut Budgets,
    row: &EventRow,
    run: &str,
) -> Result<(), StoreError> {
    if !Spending::KINDS.contains(&row.kind.as_str()) {
        return Ok(());
    }
    let payload = row.payload(run)?;
    let event = Event::from_stored(&row.kind, row.version, &payload).map_err(|error| {
        StoreError::ChainBroken {
            run: run.to_owned(),
            seq: row.seq,
            reason: error.to_string(),
        }
    })?;
    if let Some(spent) = spending.apply(&event, row.at_ms) {
        add(budgets, &spent);
    }
    Ok(())
}

fn add(budgets: &mut Budgets, spent: &Spent) {
    for period in Period::names_at(spent.at_ms) {
        let (money, tokens) = budgets.entry(period).or_default();
        *money = money
            .saturating_sub(spent.money_back.millionths())
            .saturating_add(spent.money.millionths());
        *tokens = tokens
            .saturating_sub(spent.tokens_back)
            .saturating_add(spent.tokens);
    }
}

/// What the events of all runs tell.
pub(super) fn told(connection: &Connection) -> Result<Budgets, StoreError> {
    let mut budgets = Budgets::new();
    let pruned = payloads::of(connection)?;
    let mut events = EventsOfKinds::new(connection, &Spending::KINDS)?;
    let mut runs = connection
        .prepare(&format!("SELECT {} FROM runs ORDER BY n", RunEnd::COLUMNS))
        .map_err(StoreError::read)?;
    let mut runs = runs.query([]).map_err(StoreError::read)?;
    while let Some(row) = runs.next().map_err(StoreError::read)? {
        let run = RunEnd::read(row).map_err(StoreError::read)?;
        if let Some((kept, _)) = pruned.get(&run.id) {
            kept.check_end(run.seq, &run.link)?;
            kept.spend(&mut budgets);
            continue;
        }
        let mut spending = Spending::default();
        events.each(&run, |row| apply(&mut spending, &mut budgets, row, &run.id))?;
    }
    Ok(budgets)
}

fn rows(connection: &Connection) -> rusqlite::Result<Budgets> {
    connection
        .prepare("SELECT period, money, tokens FROM budgets WHERE name = 'workspace'")?
        .query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?
        .collect()
}

/// The periods of which the table does not tell what the events tell.
fn differing(rows: &Budgets, told: &Budgets) -> Vec<String> {
    let of = |all: &Budgets, period: &String| all.get(period).copied().unwrap_or_default();
    let periods = rows
        .keys()
        .chain(told.keys().filter(|key| !rows.contains_key(*key)));
    let differing = periods.filter(|period| of(rows, period) != of(told, period));
    differing.cloned().collect()
}

fn words(period: &str) -> String {
    match period {
        "" => "budgets (what was spent in all is another sum)".to_owned(),
        period => format!("budgets (what was spent in {period} is another sum)"),
    }
}

/// Where the table does not tell what the events tell, in words; none if it does.
pub(super) fn difference(
    connection: &Connection,
    told: &Budgets,
) -> Result<Option<String>, StoreError> {
    let rows = rows(connection).map_err(StoreError::read)?;
    Ok(differing(&rows, told).first().map(|period| words(period)))
}

/// Makes the table tell what the events tell, inside the transaction that is open; what it told
/// otherwise, in words.
pub(super) fn restore(connection: &Connection, told: &Budgets) -> rusqlite::Result<Vec<String>> {
    let differing = differing(&rows(connection)?, told);
    for period in &differing {
        let (money, tokens) = told.get(period).copied().unwrap_or_default();
        connection.execute(
            "INSERT OR REPLACE INTO budgets VALUES ('workspace', ?1, ?2, ?3)",
            params![period, money, tokens],
        )?;
    }
    Ok(differing.iter().map(|period| words(period)).collect())
}

/// Makes the table of an older journal anew. Why nothing is refused: what cannot be read is found
/// before the first call that counts, and a person's stop is taken whatever is wrong.
pub(super) fn carry(connection: &Connection) -> Result<(), StoreError> {
    let emptied = connection.execute("DELETE FROM budgets", []);
    emptied.map_err(StoreError::read)?;
    match told(connection) {
        Ok(told) => restore(connection, &told)
            .map(drop)
            .map_err(StoreError::read),
        Err(_) => Ok(()),
    }
}

impl Store {
    /// Money and tokens that all runs reserved or spent in a period.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn spent(&self, period: &str) -> Result<(Money, u64), StoreError> {
        self.read(|connection| spent(connection, period).map_err(StoreError::read))
    }
}
