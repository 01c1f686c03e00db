//! Schedules that are due: a run is begun for each moment, once.
//!
//! Owns the order of the two commits. First the run is begun, under an id that follows from the
//! moment; then the schedule moves on. INVARIANT: whoever comes after a crash between the two
//! finds the run there and only moves the schedule, so no moment begins two runs, and none is lost.

use provost_run::event::RunStatus;

use super::{Engine, EngineError, OnBehalf};
use crate::notify::compose::{Unbegun, unbegun};
use crate::proposal::route;
use crate::schedule::{Overlap, Schedule};
use crate::session::{DriveError, Watcher};
use crate::store::{ScheduleRow, StoreError};

/// What became of a schedule that was due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// The name in `[schedule.NAME]`.
    pub name: String,
    /// What became of it.
    pub result: ScheduleResult,
}

/// What became of the moment of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleResult {
    /// A run was begun for it.
    Begun {
        /// The run.
        run: String,
    },
    /// None was, because one is not over: the moment has passed.
    Skipped {
        /// That run.
        run: String,
    },
    /// None could be; the moment waits.
    Failed {
        /// Why.
        why: String,
    },
}

/// What became of a moment, before the schedule moves on.
enum Moment {
    Begun,
    Overlaps(String),
    Failed(String),
}

impl Engine {
    /// Begins a run for each schedule that is due at `now`, but of those that `rests` names. Gives
    /// what became of them, and when the next one is due.
    ///
    /// # Errors
    /// [`StoreError`] if the journal fails; a run that cannot be begun is no error.
    pub async fn begin_scheduled(
        &self,
        now: i64,
        rests: &dyn Fn(&str) -> bool,
        watcher: &mut dyn Watcher,
    ) -> Result<(Vec<Scheduled>, Option<i64>), StoreError> {
        let mut all = Vec::new();
        let rows = self.store().schedules()?;
        for schedule in self.workspace().schedules() {
            if rests(&schedule.name) {
                continue;
            }
            let row = rows.iter().find(|row| row.name == schedule.name);
            let row = match row.filter(|row| row.timing == schedule.timing.to_string()) {
                Some(row) => row,
                None => {
                    self.see_first(schedule, row, now).await?;
                    continue;
                }
            };
            if row.due_ms <= now {
                let result = self.see_to(schedule, row, now, watcher).await?;
                let name = schedule.name.clone();
                all.extend(result.map(|result| Scheduled { name, result }));
            }
        }
        let named = |row: &ScheduleRow| self.workspace().schedule(&row.name).is_some();
        let rows = self.store().schedules()?;
        let next = rows.iter().filter(|row| named(row)).map(|row| row.due_ms);
        Ok((all, next.min()))
    }

    /// Notes when a schedule is due that was not seen before, or is due at other times now.
    async fn see_first(
        &self,
        schedule: &Schedule,
        before: Option<&ScheduleRow>,
        now: i64,
    ) -> Result<(), StoreError> {
        let Some(due_ms) = schedule.first(now) else {
            return Ok(());
        };
        let to = ScheduleRow {
            name: schedule.name.clone(),
            timing: schedule.timing.to_string(),
            due_ms,
            last_ms: before.and_then(|row| row.last_ms),
            last_run: before.and_then(|row| row.last_run.clone()),
            said: None,
        };
        let from = before.map(|row| row.due_ms);
        self.store()
            .move_schedule(from, to, Vec::new())
            .await
            .map(|_| ())
    }

    /// Sees to the moment that a schedule waits for; none if it goes on waiting.
    async fn see_to(
        &self,
        schedule: &Schedule,
        row: &ScheduleRow,
        now: i64,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<ScheduleResult>, StoreError> {
        let run = schedule.run_id(self.inbox().store(), row.due_ms);
        let became = match self.unfinished(row)? {
            _ if self.has_run(&run)? => Moment::Begun,
            Some(last) => Moment::Overlaps(last),
            None => self.begin_moment(schedule, &run, watcher).await?,
        };
        let after = |said| ScheduleRow {
            due_ms: schedule.next(row.due_ms, now).unwrap_or(i64::MAX),
            said,
            ..row.clone()
        };
        let (to, result) = match became {
            Moment::Begun => {
                let to = ScheduleRow {
                    last_ms: Some(row.due_ms),
                    last_run: Some(run.clone()),
                    ..after(None)
                };
                (to, ScheduleResult::Begun { run: run.clone() })
            }
            Moment::Overlaps(_) if schedule.on_overlap == Overlap::Queue => return Ok(None),
            Moment::Overlaps(run) => {
                let said = format!("skipped: run {run} was not over");
                (after(Some(said)), ScheduleResult::Skipped { run })
            }
            Moment::Failed(why) => {
                let to = ScheduleRow {
                    said: Some(why.clone()),
                    ..row.clone()
                };
                (to, ScheduleResult::Failed { why })
            }
        };
        let notices = match &result {
            ScheduleResult::Failed { why } => unbegun(
                self.workspace().notify(),
                &Unbegun {
                    schedule: &schedule.name,
                    goal: &schedule.goal,
                    run: &run,
                    why,
                },
                now,
            ),
            ScheduleResult::Begun { .. } | ScheduleResult::Skipped { .. } => Vec::new(),
        };
        let moved = self
            .store()
            .move_schedule(Some(row.due_ms), to, notices)
            .await?;
        // Why none otherwise: another process saw to the same moment, and tells of it.
        Ok(moved.then_some(result))
    }

    async fn begin_moment(
        &self,
        schedule: &Schedule,
        run: &str,
        watcher: &mut dyn Watcher,
    ) -> Result<Moment, StoreError> {
        let new = match route(self.workspace(), &schedule.goal, None) {
            Ok(routed) => routed.into_run(self.workspace().ask(), false),
            Err(error) => return Ok(Moment::Failed(error.to_string())),
        };
        let whom = OnBehalf {
            principal: self.workspace().principal(&new.planner),
            run: Some(run.to_owned()),
        };
        match self.begin_for(new, whom, watcher).await {
            Ok(session) => {
                session.release().await?;
                Ok(Moment::Begun)
            }
            Err(EngineError::SameGoal { run, .. }) => Ok(Moment::Overlaps(run)),
            Err(EngineError::Held { .. }) => Ok(Moment::Begun),
            Err(
                EngineError::Store(StoreError::SeqMismatch { .. })
                | EngineError::Drive(DriveError::Store(StoreError::SeqMismatch { .. })),
            ) => Ok(Moment::Begun),
            Err(EngineError::Store(error) | EngineError::Drive(DriveError::Store(error))) => {
                Err(error)
            }
            Err(error) => Ok(Moment::Failed(error.to_string())),
        }
    }

    fn has_run(&self, run: &str) -> Result<bool, StoreError> {
        match self.store().run(run) {
            Ok(_) => Ok(true),
            Err(StoreError::UnknownRun { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The last run of a schedule, if it is not over.
    fn unfinished(&self, row: &ScheduleRow) -> Result<Option<String>, StoreError> {
        let Some(run) = &row.last_run else {
            return Ok(None);
        };
        match self.store().run(run) {
            Ok(found) => {
                let over = RunStatus::of(&found.status).is_some_and(RunStatus::is_ended);
                Ok((!over).then(|| run.clone()))
            }
            Err(StoreError::UnknownRun { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
