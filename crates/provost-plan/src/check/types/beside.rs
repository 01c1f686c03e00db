//! Part of the pass `types`: a field that may not fit an argument, beside one that always does.
//!
//! Owns T215. What a name means is nobody's business here: an argument and a field belong together
//! where a schema gives both one `format` or `pattern`, or where both are numbers of one name.
//! INVARIANT: the field that is named fits the argument, and what is given in its place may not.

use serde_json::{Map, Value};

use super::{Leaf, Types, type_where};
use crate::check::Pass;
use crate::check::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::Segment;
use crate::expr::tree::{Access, Expr, ExprKind};
use crate::schema::{Fit, Kinds, Type};

/// What a schema says of the form of a text.
const FORMS: [&str; 2] = ["format", "pattern"];

impl Types {
    /// The finding about a value that may not fit, if a field beside it always does.
    pub(super) fn beside(
        &mut self,
        pass: &Pass<'_>,
        site: &Site<'_>,
        leaf: &Leaf<'_>,
        wanted: &Type,
    ) -> Option<Diagnostic> {
        let whole = leaf.template.whole()?.ast();
        let (given, holder) = split(whole)?;
        let argument = leaf.pointer.rsplit('/').next()?;
        if given == argument {
            return None;
        }
        let names = |root: &_, path: &[Segment]| pass.place(site, root, path);
        let mut found = Vec::new();
        let typed = type_where(
            &holder,
            &names,
            &std::collections::BTreeSet::new(),
            &mut found,
        );
        if typed.is_reported() || !found.is_empty() {
            return None;
        }
        let holder = typed.to_type_without_null()?.to_json();
        let fields = holder.get("properties")?.as_object()?;
        let meant = self.meant(fields, (given, argument), wanted)?;
        let message = format!("`{given}` may not fit `{argument}`, and `{meant}` beside it does");
        let finding = Diagnostic::new(Code::FieldBesideFits, leaf.template.span(), message);
        Some(finding.hint(format!("did you mean `{meant}`?")))
    }

    /// The field that an argument is made for, if what is given is none.
    fn meant(
        &mut self,
        fields: &Map<String, Value>,
        (given, argument): (&str, &str),
        wanted: &Type,
    ) -> Option<String> {
        let form = wanted
            .without_null()
            .unwrap_or_else(|| wanted.clone())
            .to_json();
        let own = fields.get(given)?;
        let has_form = |field: &Value| {
            FORMS.iter().any(|key| {
                form.get(*key)
                    .is_some_and(|form| field.get(*key) == Some(form))
            })
        };
        let is_number = |field: &Value| {
            let kinds = Type::of_json(field).kinds();
            !kinds.is_empty() && kinds.within(Kinds::NUMBER)
        };
        if has_form(own) {
            return None;
        }
        let others = fields.iter().filter(|(name, _)| *name != given);
        let mut like = others.filter(|(name, field)| {
            let is_namesake = *name == argument && is_number(field) && is_number(own);
            is_namesake || has_form(field)
        });
        let fits = |field: &Value| self.fit(&Type::of_json(field), wanted) == Fit::Proven;
        let mut fits = fits;
        like.find(|(_, field)| fits(field))
            .map(|(name, _)| name.clone())
    }
}

/// The field that a path ends with, and what it is a field of.
fn split(whole: &Expr) -> Option<(&str, Expr)> {
    let ExprKind::Path(base, accesses) = &whole.kind else {
        return None;
    };
    let (Access::Field(given), holder) = accesses.split_last()? else {
        return None;
    };
    let kind = match holder {
        [] => base.kind.clone(),
        holder => ExprKind::Path(base.clone(), holder.to_vec()),
    };
    let span = whole.span;
    Some((given, Expr { kind, span }))
}
