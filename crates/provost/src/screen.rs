//! What is shown: plans, cards, answers and progress.
//!
//! Owns the look of things. INVARIANT: text gets onto a page only through [`page::Page`], which
//! escapes it.

pub mod answer;
pub mod card;
pub mod delta;
pub mod live;
pub mod narrate;
pub mod page;
pub mod plain;
pub mod plan;
pub mod plot;
pub mod question;
pub mod region;
pub mod review;
pub mod run;
pub mod text_diff;
pub mod view;
pub mod waits;
pub mod words;
pub mod write_summary;

pub use provost_engine::run::read::sentences;
