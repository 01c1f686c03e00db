//! What a run changed, beside what a case expects it to change.
//!
//! Owns that comparison. Judges nothing: that is [`provost_run::read::why`]. INVARIANT: a call is
//! compared as the graders of an eval see it.

use std::collections::BTreeSet;
use std::path::Path;

use provost_run::outcome::Landing;
use provost_run::read::why::{EffectBesides, EffectsCompared};
use provost_run::state::State;
use serde_json::Value;

use super::case::{CASE_FILE, CaseError};
use super::expect::matching;
use super::read::read_case;
use super::scope::made;
use super::set::CallPattern;

/// Whether a folder is a case.
#[must_use]
pub fn is_case(dir: &Path) -> bool {
    dir.join(CASE_FILE).is_file()
}

/// Compares the effects of a run with those that the case in `dir` expects.
///
/// # Errors
/// [`CaseError`] if the case cannot be read, or expects none in particular.
pub fn compare_effects(dir: &Path, state: &State) -> Result<EffectsCompared, CaseError> {
    let case = read_case(dir)?;
    let Some(expected) = &case.expect.effects else {
        let reason = "the case has no `effects.exactly` to compare with".to_owned();
        return Err(CaseError::NotComparable(reason));
    };
    let writes = &state.writes.effects;
    let calls: Vec<_> = writes.iter().map(made).collect();
    let matched = matching(expected, &calls);
    let missing: Vec<&CallPattern> = expected
        .iter()
        .zip(&matched)
        .filter_map(|(pattern, at)| at.is_none().then_some(pattern))
        .collect();
    let mut compared = EffectsCompared {
        missing: missing.iter().map(|one| one.operation.clone()).collect(),
        ..EffectsCompared::default()
    };
    for (at, (write, call)) in writes.iter().zip(&calls).enumerate() {
        if !matched.contains(&Some(at)) {
            let same = missing.iter().find(|one| one.operation == call.operation);
            compared.besides.push(EffectBesides {
                slot: write.slot.clone(),
                operation: call.operation.clone(),
                differs: same.and_then(|one| differing(one.args.as_ref()?, &call.args)),
            });
        } else if write.landing != Landing::Happened {
            compared.unlanded.push(write.slot.clone());
        }
    }
    Ok(compared)
}

/// The names of arguments that are not the same; none if the two are no maps.
fn differing(wanted: &Value, found: &Value) -> Option<BTreeSet<String>> {
    let (wanted, found) = (wanted.as_object()?, found.as_object()?);
    let names = wanted.keys().chain(found.keys());
    let differ = names.filter(|name| wanted.get(*name) != found.get(*name));
    Some(differ.cloned().collect())
}
