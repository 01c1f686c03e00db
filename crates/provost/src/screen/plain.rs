//! The plain view: one line a fact, for pipes and logs.

use provost_engine::run::event::Event;
use provost_engine::run::state::State;

use super::narrate::Narrator;
use super::page::Page;

/// The lines of some events; `state` is the run after them.
pub fn lines(narrator: &mut Narrator, events: &[Event], state: &State) -> Page {
    let mut page = Page::new();
    for event in events {
        let told = narrator.planning(event, state);
        let told = told.or_else(|| narrator.execution(event, state.spend.last_at));
        if let Some(told) = told {
            page.page(told);
        }
    }
    page
}
