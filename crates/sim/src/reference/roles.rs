//! Roles: a step in one may name the tools of its list and no others.
//!
//! Owns R113 and V603, by holding each name against each entry of the list.

use super::{Answers, Setting, place_of};

/// Finds roles that are not there, and tools outside those that are.
pub fn judge(setting: &Setting<'_>, answers: &mut Answers) {
    for (number, step) in setting.plan.steps.iter().enumerate() {
        let Some(role) = &step.role else {
            continue;
        };
        let place = place_of(number, step);
        let Some(list) = setting.roles.get(&role.value) else {
            answers.find("R113", place);
            continue;
        };
        let known = step
            .tools()
            .filter(|tool| setting.operations.contains_key(&tool.value));
        for tool in known {
            if !list.iter().any(|entry| covers(entry, &tool.value)) {
                answers.find("V603", place.clone());
            }
        }
    }
}

/// Whether an entry is a tool, or stands for all of its server.
fn covers(entry: &str, tool: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(server) => tool.starts_with(server),
        None => entry == tool,
    }
}
