//! The counted world: how often each effect took place, and what is on its way there.
//!
//! Owns counts by place of a plan. Never knows what the machine believes. INVARIANT: a tool that
//! takes keys does not do the same twice as long as it remembers the key.

use super::Place;
use super::catalog::Kind;

/// A call that left the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Flight {
    /// The place it reaches, as an index.
    pub(super) place: usize,
    /// Whether the step that a revision added makes it.
    pub(super) again: bool,
    pub(super) class: Class,
}

/// What a call does when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Class {
    Read,
    Keyed,
    Plain,
    /// A plain write that a person said yes to as a repetition.
    Repeated,
    /// A keyed write that a person said yes to as a repetition: it has a key of its own.
    RepeatedKeyed,
    /// The read that tells whether a plain write landed.
    Find,
}

impl Class {
    pub(super) fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::Find)
    }
}

impl From<Kind> for Class {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Read => Self::Read,
            Kind::Keyed => Self::Keyed,
            Kind::Plain | Kind::Found | Kind::Wipe | Kind::Shown => Self::Plain,
        }
    }
}

/// How often what one place stands for took place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Count {
    pub(super) keyed: u8,
    pub(super) plain: u8,
    pub(super) repeated: u8,
    /// Whether the tool remembers the key of the step itself, and of the step added later.
    keys: [bool; 2],
    /// Whether a call of the step itself, and of the step added later, took place.
    pub(super) called: [bool; 2],
}

impl Count {
    /// Whether it took place at all.
    pub(super) fn is_there(self) -> bool {
        self.keyed + self.plain + self.repeated > 0
    }
}

/// The world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World(Vec<Count>);

impl World {
    pub(super) fn of(places: &[Place]) -> Self {
        Self(vec![Count::default(); places.len()])
    }

    pub(super) fn counts(&self) -> &[Count] {
        &self.0
    }

    pub(super) fn count(&self, place: usize) -> Count {
        self.0.get(place).copied().unwrap_or_default()
    }

    /// A call takes place.
    pub(super) fn perform(&mut self, flight: Flight) {
        let Some(count) = self.0.get_mut(flight.place) else {
            return;
        };
        let [own, added] = &mut count.keys;
        let key = if flight.again { added } else { own };
        match flight.class {
            Class::Read | Class::Find => return,
            Class::Keyed => {
                count.keyed += u8::from(!*key);
                *key = true;
            }
            Class::Plain => count.plain += 1,
            Class::Repeated => count.repeated += 1,
            Class::RepeatedKeyed => {
                count.repeated += u8::from(!*key);
                *key = true;
            }
        }
        let [own, added] = &mut count.called;
        *if flight.again { added } else { own } = true;
    }

    /// So much time passes that no tool remembers a key.
    pub(super) fn forget_keys(&mut self) {
        self.0.iter_mut().for_each(|count| count.keys = [false; 2]);
    }
}
