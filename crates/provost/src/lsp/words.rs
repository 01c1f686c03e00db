//! What stands at a place of a plan or a playbook while it is written: names, keys, steps.
//!
//! Owns the reading of a text that need not parse yet: by lines and indents, never by a tree.
//! INVARIANT: a guess of it is shown to a person, and never decides what a check says.

/// A step, as far as the text shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepText {
    pub id: String,
    /// Where its id stands.
    pub start: usize,
    pub tool: Option<String>,
}

/// The name around a byte, with its place: letters, digits, `_`, `-` and `.`.
pub fn name_at(text: &str, byte: usize) -> (&str, usize) {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let before = text.get(..byte).unwrap_or_default();
    let start = before.trim_end_matches(is_name).len();
    let after = text.get(byte..).unwrap_or_default();
    let end = byte + (after.len() - after.trim_start_matches(is_name).len());
    (text.get(start..end).unwrap_or_default(), start)
}

/// The part of a line before a byte.
pub fn line_before(text: &str, byte: usize) -> &str {
    let before = text.get(..byte).unwrap_or_default();
    before.rsplit('\n').next().unwrap_or_default()
}

/// The steps of a text, in its order.
pub fn steps(text: &str) -> Vec<StepText> {
    let mut steps: Vec<StepText> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let entry = line.trim_start();
        let inner = entry.trim_start_matches("- ").trim_start_matches("{ ");
        let starts_item = entry.starts_with("- ");
        if let Some((id, at)) = value_of(inner, "id").filter(|_| starts_item) {
            steps.push(StepText {
                id: id.to_owned(),
                start: start + (line.len() - inner.len()) + at,
                tool: None,
            });
        }
        let tool = value_of(inner, "tool").or_else(|| {
            let at = inner.find(" tool:")?;
            value_of(inner.get(at + 1..)?, "tool")
        });
        if let (Some((tool, _)), Some(last)) = (tool, steps.last_mut()) {
            last.tool.get_or_insert_with(|| tool.to_owned());
        }
        start += line.len();
    }
    steps
}

/// The plain value of a key at the beginning of a line, and where it stands there.
fn value_of<'t>(line: &'t str, key: &str) -> Option<(&'t str, usize)> {
    let rest = line.strip_prefix(key)?.strip_prefix(':')?;
    let value = rest.trim_start();
    let at = line.len() - value.len();
    let end = value.find(|c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']'));
    let value = value.get(..end.unwrap_or(value.len()))?;
    (!value.is_empty()).then_some((value, at))
}

/// The step that a byte stands in.
pub fn step_at(text: &str, byte: usize) -> Option<StepText> {
    let mut before = steps(text).into_iter().rev();
    before.find(|step| step.start <= byte)
}

/// The step that a name means: `steps.ID.…`, or the id itself.
pub fn step_named(text: &str, name: &str) -> Option<StepText> {
    let id = name.strip_prefix("steps.").unwrap_or(name);
    let id = id.split('.').next().unwrap_or_default();
    steps(text).into_iter().find(|step| step.id == id)
}
