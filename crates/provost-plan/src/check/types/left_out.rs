//! Part of the pass `types`: the entries of arguments that are left out where their value is null.
//!
//! Owns S721, and T202 of an entry that must be there and may not be. Says nothing of a value that
//! hangs on a parameter of the goal alone: it is another value for another goal. INVARIANT: null is
//! no fault where it leaves an entry out.

use std::collections::BTreeSet;

use super::declared::Declared;
use super::{Leaf, Site, Types, span_at};
use crate::catalog::Operation;
use crate::check::Pass;
use crate::check::typing::Typed;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{ArgTree, Key, Root, Segment, Template};
use crate::schema::{Kinds, PathType, Places, Type, Violation};

/// The operation whose arguments are looked at.
#[derive(Default)]
pub(super) struct Called {
    tool: String,
    required: BTreeSet<String>,
}

impl Called {
    pub(super) fn of(operation: &Operation) -> Self {
        let required = Declared::of(&operation.input).required.into_iter();
        Self {
            tool: operation.name.clone(),
            required: required.map(str::to_owned).collect(),
        }
    }

    /// Whether this is the operation.
    pub(super) fn is_of(&self, operation: &Operation) -> bool {
        self.tool == operation.name
    }

    /// What needs an entry of the map at `pointer`, which `of` describes, if anything does.
    fn needs(&self, key: &Key, of: &impl Places, pointer: &str) -> Option<String> {
        let segment = Segment::Field(key.to_string());
        let found = of.at(std::slice::from_ref(&segment));
        let is_required = matches!(found, PathType::Known { optional: None, .. });
        if !pointer.is_empty() {
            let holder = pointer.trim_start_matches('/').replace('/', ".");
            return is_required.then(|| format!("`{holder}` needs the field"));
        }
        // Why also as it is declared: of what may be anything the type does not say it.
        let is_required = is_required || self.required.contains(&**key);
        is_required.then(|| format!("`{}` needs the argument", self.tool))
    }
}

/// An entry that may be left out.
pub(super) struct MarkedEntry<'a> {
    key: &'a Key,
    template: &'a Template,
    /// What needs the entry, in words, if anything does.
    needed_by: Option<String>,
}

impl<'a> MarkedEntry<'a> {
    /// An entry of the map at `pointer`, which `of` describes; none if it is always there.
    pub(super) fn of(
        called: &Called,
        (key, value): &'a (Key, ArgTree),
        of: &impl Places,
        pointer: &str,
    ) -> Option<Self> {
        let ArgTree::Template(template) = value else {
            return None;
        };
        key.may_be_left_out().then(|| Self {
            key,
            template,
            needed_by: called.needs(key, of, pointer),
        })
    }
}

impl Types {
    /// Checks the value of an entry that may be left out, and gives the schema of what is sent of
    /// it; none if nothing ever is.
    pub(super) fn marked(
        &mut self,
        pass: &Pass<'_>,
        site: &Site<'_>,
        entry: &MarkedEntry<'_>,
        wanted: &Type,
        pointer: &str,
    ) -> Option<serde_json::Value> {
        let template = entry.template;
        let (typed, failed) = self.template(pass, site, template);
        if failed || typed.is_reported() {
            self.blind = true;
            return Some(true.into());
        }
        self.mark(pass, entry, &typed);
        let leaf = Leaf {
            template,
            given: typed.to_type_without_null()?,
            kinds: typed.kinds.without(Kinds::NULL),
            pointer,
        };
        self.fits(pass, site, &leaf, wanted);
        Some(leaf.given.to_json())
    }

    /// Judges the marks of arguments that are known before the run.
    pub(super) fn marks(&mut self, pass: &Pass<'_>, tree: &ArgTree, wanted: &Type, pointer: &str) {
        let is_leaf = |tree: &ArgTree| matches!(tree, ArgTree::Value(..) | ArgTree::Template(_));
        let inner = |segment: Segment| match wanted.at(&[segment]) {
            PathType::Known { ty, .. } => ty,
            _ => Type::any(),
        };
        match tree {
            ArgTree::Value(..) | ArgTree::Template(_) => {}
            ArgTree::List(items, _) => {
                for (at, item) in items.iter().enumerate().filter(|(_, item)| !is_leaf(item)) {
                    let wanted = inner(Segment::Index(at));
                    self.marks(pass, item, &wanted, &format!("{pointer}/{at}"));
                }
            }
            ArgTree::Map(entries, _) => {
                for entry in entries {
                    let (key, value) = entry;
                    let marked = MarkedEntry::of(&self.called, entry, wanted, pointer);
                    if let Some(marked) = marked
                        && let Some(value) = pass.fixed(marked.template)
                    {
                        self.mark(pass, &marked, &Typed::value(value));
                    }
                    if is_leaf(value) {
                        continue;
                    }
                    let wanted = inner(Segment::Field(key.to_string()));
                    let pointer = format!("{pointer}/{}", &**key);
                    self.marks(pass, value, &wanted, &pointer);
                }
            }
        }
    }

    /// Whether what is missing is an entry that was found to be left out.
    pub(super) fn is_left_out(&self, args: &ArgTree, violation: &Violation) -> bool {
        let holder = span_at(args, &violation.pointer);
        let is_said = |of: &Diagnostic| {
            let within = holder.start <= of.span.start && of.span.end <= holder.end;
            of.code == Code::MissingArgument && of.span != holder && within
        };
        violation.keyword == "required" && self.found.iter().any(is_said)
    }

    /// Judges the mark of an entry by what its value can be.
    fn mark(&mut self, pass: &Pass<'_>, entry: &MarkedEntry<'_>, typed: &Typed) {
        let MarkedEntry {
            key,
            template,
            needed_by,
        } = entry;
        let (name, written) = (key.as_str(), key.written());
        let needless = |what: &str, why: &str, hint: String| {
            let message = format!("`{written}` is {what} left out: its value is {why} null");
            Diagnostic::new(Code::NeedlessMark, key.span(), message).hint(hint)
        };
        let may_be_null = typed.kinds.meets(Kinds::NULL);
        let finding = match needed_by {
            Some(needed) if may_be_null => {
                let message = format!("{needed} `{name}`, which `{written}` may leave out");
                Diagnostic::new(Code::MissingArgument, key.span(), message)
                    .label("left out where the value is null")
                    .hint("give another value for null: `… != null ? … : …`, or skip the step then")
            }
            _ if is_of_goal(pass, template) || is_unguarded(pass, template) => return,
            _ if !may_be_null => {
                needless("never", "never", format!("write `{}`", Key::of_name(name)))
            }
            _ if typed.kinds.within(Kinds::NULL) => {
                needless("always", "always", "take the entry out".to_owned())
            }
            _ => return,
        };
        self.report(finding);
    }
}

/// Whether a value hangs on a parameter whose value another goal may set.
fn is_of_goal(pass: &Pass<'_>, template: &Template) -> bool {
    pass.open.params.is_none() && template.references().any(|read| read.root == Root::Params)
}

/// Whether a read in a template may be absent, so that its type does not say what it comes to.
fn is_unguarded(pass: &Pass<'_>, template: &Template) -> bool {
    let span = template.span();
    let is_inside = |of: &Diagnostic| span.start <= of.span.start && of.span.end <= span.end;
    let mut found = pass.diagnostics.iter();
    found.any(|of| of.code == Code::UnguardedRead && is_inside(of))
}
