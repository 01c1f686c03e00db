//! The virtual clock: true time, what the machine's clock shows, and what the process makes of it.
//!
//! Owns all three. Never sleeps. INVARIANT: true time only goes forward; the clock may jump, stand
//! still and go back; what the process reads flows on, as `provost-engine` reads it.

/// What the clock of the machine shows when a world begins, in milliseconds since 1970.
const BEGINS_MS: i64 = 1_700_000_000_000;

/// A day, in milliseconds.
pub(super) const DAY_MS: i64 = 86_400_000;

/// True time, and what the process reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    now: i64,
    offset: i64,
    /// How far the last reading of the process was ahead of true time.
    lead: i64,
    frozen: Option<i64>,
    /// A reading of the process, and the true time it was taken at.
    anchor: Option<(i64, i64)>,
    /// How far what the run has recorded is ahead of the machine's clock.
    ahead: i64,
}

impl Clock {
    /// True time since the world began, in milliseconds.
    pub(super) fn now(&self) -> i64 {
        self.now
    }

    fn shows(&self) -> i64 {
        self.frozen.unwrap_or(BEGINS_MS + self.now + self.offset)
    }

    /// What the process reads, in milliseconds since 1970.
    pub(super) fn read(&mut self) -> i64 {
        let wall = self.shows();
        let flows = self.anchor.map(|(read, at)| read + (self.now - at));
        let now = flows.map_or(wall, |flows| flows.max(wall));
        self.anchor = Some((now, self.now));
        self.lead = now + self.ahead - BEGINS_MS - self.now;
        now + self.ahead
    }

    pub(super) fn go_to(&mut self, at: i64) {
        self.now = self.now.max(at);
    }

    pub(super) fn jump(&mut self, by: i64) {
        self.offset += by;
    }

    pub(super) fn freeze(&mut self) {
        self.frozen = Some(self.shows());
    }

    pub(super) fn thaw(&mut self) {
        self.frozen = None;
    }

    /// A process begins. Why the clock is not behind what was read of it: how long nobody was
    /// there is known from it alone, so one that hides that is beyond what can be promised.
    pub(super) fn begin(&mut self, last_at: i64) {
        self.frozen = None;
        self.offset = self.offset.max(self.lead).max(0);
        self.anchor = None;
        self.ahead = (last_at - self.shows()).max(0);
    }
}
