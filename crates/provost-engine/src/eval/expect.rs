//! The graders: whether what a repeat came to is what its case expects.
//!
//! Owns each grader and the sentence of one that does not hold. Looks at facts alone. INVARIANT: a
//! grader that cannot be evaluated does not hold, and says why.

use provost_plan::expr::{Scope, Template};
use serde_json::Value;

use super::report::GraderResult;
use super::scope::{Facts, MadeCall};
use super::set::{CallPattern, Expect, matches};

impl Expect {
    /// Grades what a repeat came to: one result for each thing that is expected.
    pub(super) fn grade(&self, facts: &Facts) -> Vec<GraderResult> {
        let mut results = Vec::new();
        let mut put = |name: &str, fault: Option<String>| {
            results.push(GraderResult {
                name: name.to_owned(),
                held: fault.is_none(),
                fault,
            });
        };
        if let Some(status) = &self.status {
            put("status", differs(status, &facts.status));
        }
        if let Some(class) = &self.class {
            let found = facts.class.as_deref().unwrap_or("none");
            put("class", differs(class, found));
        }
        if let Some(expected) = &self.effects {
            put(
                "effects",
                unlike(expected, &facts.effects, self.ordered, "took place"),
            );
        }
        if !self.never.is_empty() {
            put("effects.never", forbidden(&self.never, &facts.effects));
        }
        if let Some(expected) = &self.asked {
            put(
                "asked",
                unlike(expected, &facts.asked, false, "was asked about"),
            );
        }
        for (name, conditions) in [("ledger", &self.ledger), ("check", &self.check)] {
            for condition in conditions {
                put(name, unmet(condition, &facts.scope()));
            }
        }
        for (name, most, found) in self.limits(facts) {
            put(name, most.and_then(|most| above(most, found)));
        }
        if let Some(wanted) = self.first_time {
            let found = facts.first_time;
            let fault = (found != Some(wanted)).then(|| match found {
                None => "nobody proposed a plan".to_owned(),
                Some(_) => format!("the first proposal was {}admissible", not(wanted)),
            });
            put("plan.first_time", fault);
        }
        if let Some(most) = self.money_max {
            let tokens = facts.metrics.planner_tokens_in + facts.metrics.planner_tokens_out;
            let fault = match facts.metrics.planner_cost {
                Some(found) if found > most => Some(format!("it cost {found}, more than {most}")),
                // Why no pass: what has no price is not free.
                None if tokens > 0 => Some("what planning cost has no price".to_owned()),
                Some(_) | None => None,
            };
            put("cost.money", fault);
        }
        if let Some(wanted) = &self.guilty {
            put("why.guilty", differs(wanted, facts.why.guilty.word()));
        }
        results
    }

    /// The counts with a limit: name, most, found.
    fn limits(&self, facts: &Facts) -> Vec<(&'static str, Option<u64>, u64)> {
        let metrics = &facts.metrics;
        let busy = (metrics.elapsed_ms - metrics.waiting_for_people_ms).max(0);
        let tokens = metrics.planner_tokens_in + metrics.planner_tokens_out;
        let busy_max = self.busy_max.map(|most| {
            let most = most.as_millis();
            u64::try_from(most).unwrap_or(u64::MAX)
        });
        let all = [
            ("plan.steps", self.steps_max, metrics.steps),
            ("plan.unneeded", self.unneeded_max, metrics.steps_unneeded),
            ("cost.tokens", self.tokens_max, tokens),
            ("cost.requests", self.requests_max, metrics.planner_requests),
            ("cost.busy_ms", busy_max, busy.unsigned_abs()),
        ];
        let limited = all.into_iter().filter(|(_, most, _)| most.is_some());
        limited.collect()
    }
}

fn not(wanted: bool) -> &'static str {
    if wanted { "not " } else { "" }
}

fn differs(wanted: &str, found: &str) -> Option<String> {
    (wanted != found).then(|| format!("expected {wanted}, found {found}"))
}

fn above(most: u64, found: u64) -> Option<String> {
    (found > most).then(|| format!("found {found}, at most {most}"))
}

fn unmet(condition: &Template, scope: &Scope<'_>) -> Option<String> {
    match condition.eval_bool(scope) {
        Ok(true) => None,
        Ok(false) => Some(format!("`{}` does not hold", condition.text().trim())),
        Err(error) => Some(error.to_string()),
    }
}

fn forbidden(never: &[String], effects: &[MadeCall]) -> Option<String> {
    let met = |call: &&MadeCall| never.iter().any(|one| matches(one, &call.operation));
    let found = effects.iter().find(met)?;
    Some(format!("{} took place", shown(found)))
}

/// What of the expected calls is missing, and what is there besides.
fn unlike(
    expected: &[CallPattern],
    found: &[MadeCall],
    ordered: bool,
    verb: &str,
) -> Option<String> {
    let matched = matching(expected, found);
    let missing = expected.iter().zip(&matched).filter(|(_, at)| at.is_none());
    let missing: Vec<String> = missing.map(|(pattern, _)| wanted(pattern)).collect();
    let taken: Vec<usize> = matched.iter().flatten().copied().collect();
    let more = found.iter().enumerate();
    let more = more.filter(|(at, _)| !taken.contains(at));
    let more: Vec<String> = more.map(|(_, call)| shown(call)).collect();
    if !missing.is_empty() || !more.is_empty() {
        let mut parts = Vec::new();
        if !missing.is_empty() {
            parts.push(format!("missing: {}", missing.join(", ")));
        }
        if !more.is_empty() {
            parts.push(format!("{verb} besides: {}", more.join(", ")));
        }
        return Some(parts.join("; "));
    }
    (ordered && !taken.is_sorted()).then(|| "in another order".to_owned())
}

/// Which found call each expected one is: as many as can be, each for one alone.
pub(super) fn matching(expected: &[CallPattern], found: &[MadeCall]) -> Vec<Option<usize>> {
    let mut of_found: Vec<Option<usize>> = vec![None; found.len()];
    for at in 0..expected.len() {
        let mut tried = vec![false; found.len()];
        place(at, expected, found, &mut of_found, &mut tried);
    }
    let mut matched = vec![None; expected.len()];
    for (call, pattern) in of_found.into_iter().enumerate() {
        if let Some(slot) = pattern.and_then(|pattern| matched.get_mut(pattern)) {
            *slot = Some(call);
        }
    }
    matched
}

/// Finds a place for a pattern, moving others if need be (Kuhn's algorithm).
fn place(
    pattern: usize,
    expected: &[CallPattern],
    found: &[MadeCall],
    of_found: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    let Some(wanted) = expected.get(pattern) else {
        return false;
    };
    for (at, call) in found.iter().enumerate() {
        let is_open = tried.get(at).is_some_and(|tried| !tried);
        if !is_open || !is_meant(wanted, call) {
            continue;
        }
        if let Some(tried) = tried.get_mut(at) {
            *tried = true;
        }
        let holder = of_found.get(at).copied().flatten();
        if holder.is_none_or(|other| place(other, expected, found, of_found, tried)) {
            if let Some(slot) = of_found.get_mut(at) {
                *slot = Some(pattern);
            }
            return true;
        }
    }
    false
}

fn is_meant(pattern: &CallPattern, call: &MadeCall) -> bool {
    matches(&pattern.operation, &call.operation)
        && pattern.args.as_ref().is_none_or(|args| *args == call.args)
        && pattern.when.as_ref().is_none_or(|when| {
            let scope = Scope::new().with("args", &call.args);
            when.eval_bool(&scope).unwrap_or(false)
        })
}

fn wanted(pattern: &CallPattern) -> String {
    let args = pattern.args.as_ref().map(Value::to_string);
    let when = pattern.when.as_ref().map(|when| when.text().to_owned());
    match args.or(when) {
        Some(more) => format!("{} {more}", pattern.operation),
        None => pattern.operation.clone(),
    }
}

fn shown(call: &MadeCall) -> String {
    match &call.args {
        Value::Null => call.operation.clone(),
        args => format!("{} {args}", call.operation),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(operation: &str, n: u64) -> MadeCall {
        MadeCall {
            operation: operation.to_owned(),
            args: json!({ "n": n }),
        }
    }

    fn pattern(operation: &str, n: Option<u64>) -> CallPattern {
        CallPattern {
            operation: operation.to_owned(),
            args: n.map(|n| json!({ "n": n })),
            when: None,
        }
    }

    #[test]
    fn calls_are_compared_as_multisets() {
        let found = [call("a.b", 1), call("a.b", 1), call("a.c", 2)];
        let twice = [
            pattern("a.b", Some(1)),
            pattern("a.c", None),
            pattern("a.b", Some(1)),
        ];
        assert_eq!(unlike(&twice, &found, false, "took place"), None);
        let once = unlike(&twice[..2], &found, false, "took place").unwrap();
        assert_eq!(once, "took place besides: a.b {\"n\":1}");
        let other = [pattern("a.b", Some(1)), pattern("a.b", Some(2))];
        let fault = unlike(&other, &found[..2], false, "took place").unwrap();
        assert!(fault.starts_with("missing: a.b {\"n\":2}; "), "{fault}");
        let ordered = unlike(
            &[pattern("a.c", None), twice[0].clone()],
            &found[1..],
            true,
            "",
        );
        assert_eq!(ordered.as_deref(), Some("in another order"));
    }

    #[test]
    fn a_wide_pattern_leaves_a_narrow_one_its_call() {
        // Taken in turn, `a.*` takes the only call that the second means.
        let expected = [pattern("a.*", None), pattern("a.b", Some(1))];
        let found = [call("a.b", 1), call("a.c", 2)];
        assert_eq!(unlike(&expected, &found, false, ""), None);
        assert!(unlike(&expected, &[call("a.c", 1), call("a.c", 2)], false, "").is_some());
    }
}
