//! Policies and people: the files of `policies/`, and the default policy where there are none.

use std::path::Path;

use provost_plan::catalog::Catalog;
use provost_plan::policy::{DEFAULT_POLICY, People, Policy};
use provost_plan::source::Source;

use super::POLICIES_DIR;
use super::error::Collector;
use super::files;

/// The file of people, in [`POLICIES_DIR`].
pub(crate) const PEOPLE_FILE: &str = "policies/entities.json";

/// The texts, before they are judged.
pub(super) struct Texts {
    policies: Vec<Source>,
    people: Option<Source>,
}

/// The people that the file lists now, whatever stands in other files; none if it cannot be read.
pub(crate) fn people_now(root: &Path) -> Option<People> {
    let text = std::fs::read_to_string(root.join(PEOPLE_FILE)).ok()?;
    People::read(&Source::new(PEOPLE_FILE, text)).ok()
}

/// What they say.
pub(super) struct Rules {
    pub(super) policy: Policy,
    pub(super) people: People,
}

impl Texts {
    pub(super) fn read(root: &Path, found: &mut Collector) -> Self {
        let names = files::names(root, POLICIES_DIR, &[".cedar"], found);
        Self {
            policies: names
                .iter()
                .filter_map(|name| files::optional(root, name, found))
                .collect(),
            people: files::optional(root, PEOPLE_FILE, found),
        }
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.policies.iter().chain(&self.people)
    }
}

/// Loads the policies for the operations of `catalog`.
pub(super) fn load(
    catalog: &Catalog,
    texts: &Texts,
    found: &mut Collector,
    not_checked: &mut Vec<String>,
) -> Option<Rules> {
    let people = match texts.people.as_ref().map(People::read) {
        None => People::default(),
        Some(Ok(people)) => people,
        Some(Err(diagnostics)) => {
            if let Some(source) = &texts.people {
                found.add(source, diagnostics);
            }
            return None;
        }
    };
    let mut policies = texts.policies.clone();
    if policies.is_empty() {
        not_checked.push(format!(
            "policies of this workspace: there is none in `{POLICIES_DIR}/`, so the default \
             policy decides"
        ));
        policies.push(Source::new("<default policy>", DEFAULT_POLICY));
    }
    match Policy::load(catalog, &policies, &people) {
        Ok(policy) => Some(Rules { policy, people }),
        Err(findings) => {
            for (source, diagnostic) in findings {
                found.add(&source, vec![diagnostic]);
            }
            None
        }
    }
}
