//! Part of the pass `shape`: descriptions and criteria that say nothing.
//!
//! Owns the list of words that say nothing by themselves. INVARIANT: one word that is not on the
//! list is enough to let a text pass, so no text in another language is ever found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::check::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::plan::Criterion;

/// Words of any text.
const COMMON: &str = "
    a an the this that these those it its them they all any every each some something anything
    everything and or then so if of for to in on with by as at from into up out over about is are
    was were be been being has have had will would should must can could may do does did done not
    no yes we us our you your i my me here there now again also just only please via per";

/// Words that say that something is done, and not what.
const DOING: &str = "
    went process processes processed processing handle handles handled handling perform performs
    performed performing execute executes executed executing run runs running make makes making
    work works working worked deal deals manage manages take takes care go goes going proceed
    proceeds continue continues start starts begin begins finish finishes finished finalize
    finalise complete completes completed completing accomplish achieve achieves use uses using
    call calls do doing ensure ensures try tries carry carries wrap prepare implement invoke
    operate act apply";

/// Words that stand for a thing, and not for which.
const THINGS: &str = "
    task tasks step steps action actions operation operations job jobs work stuff thing things
    data information info result results output outputs input inputs tool tools function
    functions request requests process logic business main misc miscellaneous various other
    others next previous first second third final last todo tbd tba fixme xxx wip na none null
    placeholder description example foo bar baz goal goals plan plans objective purpose
    whatever";

/// Words that say that something is well, and not in what.
const WELL: &str = "
    needed necessary required appropriate appropriately accordingly properly proper correctly
    correct right well good fine ok okay nice success successful successfully succeed succeeds
    succeeded satisfied satisfactory satisfactorily expected desired intended usual normal
    normally working valid validly met reached achieved fulfilled happy perfect perfectly great
    fully completely entirely ready passed pass passes true";

static EMPTY: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    [COMMON, DOING, THINGS, WELL]
        .into_iter()
        .flat_map(str::split_whitespace)
        .collect()
});

/// Whether a text is made only of words that say nothing, or of none.
fn is_empty_talk(text: &str) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    let lower = lower.replace("'s", "").replace('\'', "");
    let mut words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.all(|word| {
        let counts = word.len() <= 2 && word.bytes().all(|b| b.is_ascii_digit());
        counts || word.len() == 1 && word.is_ascii() || EMPTY.contains(word)
    })
}

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for step in &pass.plan.steps {
        let vague = step.description.as_ref();
        if let Some(description) = vague.filter(|text| is_empty_talk(&text.value)) {
            let message = format!("the description of `{}` says nothing", step.id.value);
            found.push(
                Diagnostic::new(Code::VagueStep, description.span, message)
                    .hint("say what is read or changed, where, and what for")
                    .step(&step.id.value),
            );
        }
    }
    let criteria: BTreeMap<&str, &Criterion> = pass
        .terms
        .goal
        .success
        .iter()
        .map(|criterion| (criterion.id.as_str(), criterion))
        .collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for proof in &pass.plan.success {
        let id = proof.criterion.value.as_str();
        let Some(criterion) = criteria.get(id).filter(|_| seen.insert(id)) else {
            continue;
        };
        if is_empty_talk(&criterion.text) {
            let message = format!("the criterion `{id}` does not say what has to hold");
            found.push(
                Diagnostic::new(Code::VagueCriterion, proof.criterion.span, message)
                    .note(format!("`{id}`: {}", criterion.text))
                    .hint("say what can be seen when it holds: a number, a state, a message"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_empty_talk;

    #[test]
    fn what_says_nothing_and_what_says_little() {
        for text in [
            "process the data as needed",
            "do the task",
            "Handle it.",
            "TODO",
            "...",
            "",
            "Step 3",
            "Perform the required operation",
            "it works",
            "task done properly",
            "success",
            "Everything's OK",
            "The goal is achieved successfully",
        ] {
            assert!(is_empty_talk(text), "{text}");
        }
        for text in [
            "Count the open tickets",
            "Process the refund",
            "Handle open tickets",
            "Run the backup",
            "Execute the deployment",
            "Get the threshold",
            "Check the balance",
            "Page on-call",
            "TODO: ask Bob",
            "Données traitées",
            "処理する",
            "the report was sent",
            "no tickets remain open",
            "latency under 200 ms",
            "Invoice 4711",
        ] {
            assert!(!is_empty_talk(text), "{text}");
        }
    }
}
