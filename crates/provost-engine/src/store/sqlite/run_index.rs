//! What pages of runs are searched by and no index of the journal has: when each run was created,
//! its goal, and which runs act for agents.
//!
//! Owns a copy of these in memory: an index in the journal would be written with each append. What
//! it finds is asked of the journal once more. INVARIANT: before each search the copy takes in
//! what was committed since, and is made anew where the journal is not the one that it is of.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use provost_plan::digest::Digest;
use provost_plan::policy::{Principal, PrincipalKind};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::feed::{self, Among};
use super::read::RunRow;
use super::{RunPage, Store, StoreError, begun};
use crate::limits::{EVENTS_TAKEN_IN_MAX, GOALS_BYTES_MAX, RUNS_ASKED_FOR_MAX};

/// The copy, for all readers of one journal in this process.
#[derive(Debug, Default)]
pub struct RunIndex(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The last event that was taken in.
    through: Option<(i64, Digest)>,
    /// The numbers of the runs, in order, and when each was created.
    runs: Vec<(i64, i64)>,
    goals: Goals,
    /// By the name of a person: the numbers of the runs that act for their agents, in order, among
    /// those up to a number. Kept of who was asked about.
    agents: BTreeMap<String, (i64, Vec<i64>)>,
}

/// The goals of all runs in one text, in small letters as far as they are of ASCII.
#[derive(Debug, Default)]
struct Goals {
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
}

/// Where runs that are looked for can be.
struct Found {
    /// Their numbers, the latest first: all of them, or as many as were asked for.
    numbers: Vec<i64>,
    /// Whether there are more than may be asked for one by one.
    many: bool,
    /// Whether the goals were searched as well.
    searched: bool,
}

impl RunIndex {
    /// [`Store::runs_page`], which reads no run to find that its goal or its moment does not fit.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn page(&self, store: &Store, page: &RunPage) -> Result<Vec<(i64, RunRow)>, StoreError> {
        let unbounded = page.since_ms.is_none() && page.until_ms.is_none();
        let agents = agents(page);
        if page.goal.is_none() && unbounded && agents.is_empty() {
            return store.runs_page(page);
        }
        let others = page.planner.is_some() || page.playbook.is_some();
        let others = others || page.principals.is_some() || !page.statuses.is_empty();
        let most = match others {
            true => RUNS_ASKED_FOR_MAX,
            false => page.limit as usize,
        };
        let found = store.read_rows(|connection| {
            // Why one transaction: runs and events must be of one moment.
            let moment = connection.unchecked_transaction()?;
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.take_in(&moment)?;
            let of_agents = kept.of_agents(&moment, agents)?;
            Ok(kept.find(page, of_agents.as_deref(), most))
        })?;
        let among = match found.numbers.first() {
            None => return Ok(Vec::new()),
            Some(_) if found.searched && !(found.many && others) => Among::These(found.numbers),
            Some(latest) => Among::UpTo(*latest),
        };
        store.runs_page_among(page, &among)
    }
}

/// Those whom runs of a page act for, if they are agents alone. Why only then: by a person's own
/// name an index has the runs, and most of them are the person's.
fn agents(page: &RunPage) -> &[Principal] {
    let wanted = page.principals.as_deref().unwrap_or_default();
    let alone = wanted.iter().all(|one| one.kind == PrincipalKind::Agent);
    if alone { wanted } else { &[] }
}

impl Kept {
    /// The numbers of the runs that act for these agents, in order; none if there are no agents.
    fn of_agents(
        &mut self,
        journal: &Connection,
        agents: &[Principal],
    ) -> rusqlite::Result<Option<Vec<i64>>> {
        let mut all = Vec::new();
        for agent in agents {
            let known = self.agents.entry(agent.id.clone()).or_default();
            let (condition, values) = feed::acts_for(journal, std::slice::from_ref(agent))?;
            let sql = format!(
                "SELECT begun.n FROM {} WHERE {condition} AND begun.n > ? ORDER BY begun.n",
                begun::WITH_FIRST
            );
            let values = values.into_iter().chain([known.0.into()]);
            let mut query = journal.prepare_cached(&sql)?;
            let rows = query.query_map(rusqlite::params_from_iter(values), |row| row.get(0))?;
            known
                .1
                .extend(rows.collect::<rusqlite::Result<Vec<i64>>>()?);
            known.0 = self.runs.last().map_or(0, |(n, _)| *n);
            all.extend(&known.1);
        }
        all.sort_unstable();
        Ok((!agents.is_empty()).then_some(all))
    }

    /// Takes in what was committed since.
    fn take_in(&mut self, journal: &Connection) -> rusqlite::Result<()> {
        let newest = journal
            .prepare_cached("SELECT n, link FROM events ORDER BY n DESC LIMIT 1")?
            .query_row([], place)
            .optional()?;
        if newest == self.through {
            return Ok(());
        }
        if !self.goes_on_in(journal, newest.map_or(0, |(n, _)| n))? {
            *self = Self::default();
        }
        let last = self.runs.last().map_or(0, |(n, _)| *n);
        let mut query = journal
            .prepare_cached("SELECT n, created_at, goal FROM runs WHERE n > ?1 ORDER BY n")?;
        let mut rows = query.query([last])?;
        while let Some(row) = rows.next()? {
            self.runs.push((row.get(0)?, row.get(1)?));
            self.goals
                .push(row.get_ref(2)?.as_str().unwrap_or_default());
        }
        // Why last: where the journal could not be read, all of it is looked at once more.
        self.through = newest;
        Ok(())
    }

    /// Whether what is kept is of this journal, and nothing of it changed since: what did change
    /// and is told by events is changed here as well.
    fn goes_on_in(&mut self, journal: &Connection, newest: i64) -> rusqlite::Result<bool> {
        let Some((n, link)) = self.through else {
            return Ok(false);
        };
        let still = journal
            .prepare_cached("SELECT n, link FROM events WHERE n = ?1")?
            .query_row([n], place)
            .optional()?;
        // Why then anew: to look at many events takes as long as to read all runs.
        if still != Some((n, link)) || newest - n > EVENTS_TAKEN_IN_MAX {
            return Ok(false);
        }
        let mut query = journal.prepare_cached(
            "SELECT runs.n, runs.goal FROM events LEFT JOIN runs ON runs.n = events.run \
             WHERE events.n > ?1 \
             AND kind IN ('GoalAmended', 'PayloadsPruned', 'TablesRestored')",
        )?;
        let mut rows = query.query(params![n])?;
        while let Some(row) = rows.next()? {
            // Why anew where there is no run: the log of the workspace tells of many at once.
            let Some(run) = row.get::<_, Option<i64>>(0)? else {
                return Ok(false);
            };
            if let Ok(at) = self.runs.binary_search_by_key(&run, |(n, _)| *n) {
                self.goals
                    .replace(at, row.get_ref(1)?.as_str().unwrap_or_default());
            }
        }
        Ok(true)
    }

    /// The latest runs of a page by goal and moment, as many as are wanted.
    fn find(&self, page: &RunPage, of_agents: Option<&[i64]>, most: usize) -> Found {
        let mut found = Found {
            numbers: Vec::new(),
            many: false,
            searched: page.goal.is_none() || !self.goals.are_left_out(),
        };
        let fits = |(n, created): &(i64, i64)| {
            page.before.is_none_or(|before| *n < before)
                && page.since_ms.is_none_or(|since| *created >= since)
                && page.until_ms.is_none_or(|until| *created < until)
                && of_agents.is_none_or(|all| all.binary_search(n).is_ok())
        };
        let mut take = |at: usize| {
            if let Some(run) = self.runs.get(at).filter(|run| fits(run)) {
                found.many = found.numbers.len() == most;
                if !found.many {
                    found.numbers.push(run.0);
                }
            }
            !found.many
        };
        match &page.goal {
            Some(text) if found.searched => {
                self.goals.each_with(&text.to_ascii_lowercase(), take);
            }
            _ => {
                let place = |n: &i64| self.runs.binary_search_by_key(n, |(n, _)| *n).ok();
                let mut all = (0..self.runs.len()).rev();
                let mut of_agents = of_agents.map(|all| all.iter().rev().filter_map(place));
                let mut next = || match &mut of_agents {
                    Some(theirs) => theirs.next(),
                    None => all.next(),
                };
                while next().is_some_and(&mut take) {}
            }
        }
        found
    }
}

impl Goals {
    /// How many goals are searched at once.
    const BLOCK: usize = 1_024;

    fn push(&mut self, goal: &str) {
        // Why a place all the same: numbers and goals are told apart by nothing else.
        if self.text.len() <= GOALS_BYTES_MAX {
            self.text.push_str(goal);
            let from = self.text.len() - goal.len();
            if let Some(new) = self.text.get_mut(from..) {
                new.make_ascii_lowercase();
            }
        }
        self.ends.push(self.text.len());
    }

    /// Whether they were too long to be kept: then every run may have any.
    fn are_left_out(&self) -> bool {
        self.text.len() > GOALS_BYTES_MAX
    }

    fn replace(&mut self, at: usize, goal: &str) {
        let (from, to) = self.place(at);
        if self.text.get(from..to).is_none() {
            return;
        }
        self.text
            .replace_range(from..to, &goal.to_ascii_lowercase());
        for end in self.ends.iter_mut().skip(at) {
            *end = *end - (to - from) + goal.len();
        }
    }

    fn place(&self, at: usize) -> (usize, usize) {
        let end = |at: usize| self.ends.get(at).copied().unwrap_or_default();
        (at.checked_sub(1).map_or(0, end), end(at))
    }

    /// Gives each goal with a text in it, the latest first, for as long as another is wanted.
    fn each_with(&self, text: &str, mut take: impl FnMut(usize) -> bool) {
        let mut to = self.ends.len();
        let mut with = Vec::new();
        while to > 0 {
            let from = to.saturating_sub(Self::BLOCK);
            self.all_with(text, (from, to), &mut with);
            while let Some(at) = with.pop() {
                if !take(at) {
                    return;
                }
            }
            to = from;
        }
    }

    /// Adds the goals from one place to another with a text in them, in order.
    fn all_with(&self, text: &str, (from, to): (usize, usize), with: &mut Vec<usize>) {
        let (mut start, end) = (self.place(from).0, self.place(to - 1).1);
        let mut next = from;
        while next < to {
            let rest = self.text.get(start..end).unwrap_or_default();
            let Some(found) = rest.find(text) else { return };
            let found = start + found;
            // The first goal that ends behind where the text begins; an empty text is in all.
            let ends = self.ends.get(next..to).unwrap_or_default();
            let at = next + ends.partition_point(|end| *end <= found && !text.is_empty());
            let (begins, stops) = self.place(at);
            if found >= begins && found + text.len() <= stops {
                with.push(at);
                (start, next) = (stops, at + 1);
            } else {
                // Why the next letter: what is found reaches into another goal, and one that does
                // not may begin within it.
                let letter = self.text.get(found..).and_then(|rest| rest.chars().next());
                start = found + letter.map_or(1, char::len_utf8);
                next = at;
            }
        }
    }
}

fn place(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, Digest)> {
    Ok((row.get(0)?, Digest::from_bytes(row.get(1)?)))
}

#[cfg(test)]
mod tests {
    use super::Goals;

    fn with(goals: &[&str], text: &str) -> Vec<usize> {
        let mut all = Goals::default();
        goals.iter().for_each(|goal| all.push(goal));
        let mut found = Vec::new();
        all.each_with(text, |at| {
            found.push(at);
            true
        });
        found
    }

    #[test]
    fn a_text_is_found_within_a_goal_and_not_between_two() {
        let goals = ["Order ab", "ab order", "", "aab", "ÄB Ab", "ba"];
        for text in [
            "ab", "a", "b", "order", "bab", "aba", "ba", "baab", "äb", "Ä", "", " ", "ab ", "x",
        ] {
            let text = text.to_ascii_lowercase();
            let fits = |(_, goal): &(usize, &&str)| goal.to_ascii_lowercase().contains(&text);
            let expected: Vec<usize> = goals
                .iter()
                .enumerate()
                .filter(fits)
                .map(|(at, _)| at)
                .collect();
            let mut found = with(&goals, &text);
            found.reverse();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn blocks_are_searched_from_the_latest_on() {
        let goals: Vec<String> = (0..3_000).map(|at| format!("goal {at}")).collect();
        let goals: Vec<&str> = goals.iter().map(String::as_str).collect();
        let found = with(&goals, "goal 29");
        let expected: Vec<usize> = (2_900..3_000)
            .rev()
            .chain((290..300).rev())
            .chain([29])
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_goal_that_is_another_is_found_by_its_new_words_alone() {
        let mut all = Goals::default();
        ["one", "two", "three"]
            .iter()
            .for_each(|goal| all.push(goal));
        all.replace(1, "A longer ONE");
        let found = |text: &str| {
            let mut found = Vec::new();
            all.each_with(text, |at| {
                found.push(at);
                true
            });
            found
        };
        assert_eq!(found("one"), [1, 0]);
        assert_eq!(found("three"), [2]);
        assert_eq!(found("two"), [0; 0]);
    }
}
