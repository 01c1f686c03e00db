//! Plans that were read last: many runs of one plan read it once.
//!
//! Owns a few texts with what they read as. INVARIANT: a plan is a function of its text and its
//! name, so what is kept is what reading again would give.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::read_plan;
use crate::diagnostic::Diagnostic;
use crate::plan::Plan;
use crate::source::Source;

/// Most plans that are kept.
const PLANS_MAX: usize = 16;
/// Longest text that is kept, in bytes.
const TEXT_BYTES_MAX: usize = 256 * 1024;

static KEPT: Mutex<VecDeque<Arc<Plan>>> = Mutex::new(VecDeque::new());

/// [`read_plan`], for a text that may have been read a moment ago.
///
/// # Errors
/// Every finding about its text and structure.
pub fn read_plan_once(source: &Source) -> Result<Arc<Plan>, Vec<Diagnostic>> {
    // Why: nothing panics while the lock is held, and what is kept is whole in any case.
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let same = kept.iter().find(|plan| plan.source == *source).cloned();
    drop(kept);
    if let Some(plan) = same {
        return Ok(plan);
    }
    let plan = Arc::new(read_plan(source)?);
    if source.text.len() <= TEXT_BYTES_MAX {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.truncate(PLANS_MAX - 1);
        kept.push_front(Arc::clone(&plan));
    }
    Ok(plan)
}
