//! In which order names are written out: after those that they use.
//!
//! Owns the order, and the names that have none because they stand for each other. INVARIANT: a
//! name is written out once, when all that it uses is.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{Scope, Writer};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::names::written_out;
use crate::plan::names::LetName;

/// Most names of a circle that are named.
const CYCLE_NAMES_SHOWN: usize = 8;

impl Writer<'_> {
    /// Writes the names out in each other's expressions, those that use no other first.
    pub(super) fn resolve(&mut self) {
        let nothing = Scope::new();
        let mut scopes: Vec<Scope> = vec![nothing; self.names.len()];
        for own in self.of_steps.values() {
            for name in own.values() {
                if let Some(scope) = scopes.get_mut(*name) {
                    scope.clone_from(own);
                }
            }
        }
        let needs: Vec<Vec<usize>> = (0..self.names.len())
            .map(|at| self.needs(at, scopes.get(at)))
            .collect();
        let mut waits: Vec<usize> = needs.iter().map(Vec::len).collect();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
        for (user, needs) in needs.iter().enumerate() {
            for need in needs {
                if let Some(users) = users.get_mut(*need) {
                    users.push(user);
                }
                if let Some(name) = self.names.get_mut(*need) {
                    name.is_used = true;
                }
            }
        }
        let free = waits.iter().enumerate().filter(|(_, waits)| **waits == 0);
        let mut ready: Vec<usize> = free.map(|(at, _)| at).collect();
        while let Some(at) = ready.pop() {
            if let Some(own) = scopes.get(at) {
                self.write_name(at, own);
            }
            for user in users.get(at).into_iter().flatten() {
                if let Some(waits) = waits.get_mut(*user) {
                    *waits -= 1;
                    ready.extend((*waits == 0).then_some(*user));
                }
            }
        }
        self.cycles(&needs, &waits);
    }

    /// The names that the expression of a name uses, each as often as it does.
    fn needs(&self, at: usize, own: Option<&Scope>) -> Vec<usize> {
        let used = self.meanings.get(at).and_then(|m| m.used.as_ref());
        let uses = used.into_iter().flat_map(|used| &used.uses);
        let found = uses.filter_map(|(name, _)| self.lookup(name, own?));
        found.collect()
    }

    /// Writes out one name, of which all that it uses is written out.
    fn write_name(&mut self, at: usize, own: &Scope) {
        let (Some(meaning), Some(name)) = (self.meanings.get(at), self.names.get(at)) else {
            return;
        };
        let Some(used) = &meaning.used else {
            return;
        };
        // Why silent: what is wrong with one of them is said there.
        let needs = self.needs(at, Some(own));
        let unwritten = |need: &usize| {
            let need = self.meanings.get(*need);
            need.is_none_or(|need| need.written.is_none())
        };
        if needs.iter().any(unwritten) {
            return;
        }
        let offsets = &name.origin.own;
        let place = |at: &Range<usize>| offsets.span(at.start, at.end);
        if let Some(finding) = self.misuse(used, own, &place) {
            let step = name.step.clone();
            self.report(finding, step.as_ref());
            return;
        }
        let value = |name: &str| self.value(name, own);
        let range = meaning.at.clone();
        let used = std::slice::from_ref(used);
        let (written, pieces) = written_out(&meaning.text, range, used, &value);
        // Why: a name that is another one is as much as that.
        let is_alone = used.iter().any(|used| match used.uses.as_slice() {
            [(_, place)] => *place == used.at,
            _ => false,
        });
        let meant = needs.first().and_then(|need| self.meanings.get(*need));
        let is_operand = meant.filter(|_| is_alone).map(|meant| meant.is_operand);
        let words = needs.into_iter().filter_map(|need| self.meanings.get(need));
        let words: Vec<String> = words.flat_map(|m| m.words.iter().cloned()).collect();
        if let Some(meaning) = self.meanings.get_mut(at) {
            meaning.written = Some(written);
            meaning.is_operand = is_operand.unwrap_or(meaning.is_operand);
            meaning.words.extend(words);
        }
        if let Some(name) = self.names.get_mut(at) {
            name.origin.pieces = pieces;
        }
    }

    /// Reports names that stand for each other: those that still wait.
    fn cycles(&mut self, needs: &[Vec<usize>], waits: &[usize]) {
        let waiting = |at: &usize| waits.get(*at).is_some_and(|waits| *waits > 0);
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        for first in (0..needs.len()).filter(waiting) {
            let mut way: Vec<usize> = Vec::new();
            let mut next = Some(first);
            while let Some(at) = next.filter(|at| seen.insert(*at)) {
                way.push(at);
                let needs = needs.get(at).into_iter().flatten();
                next = needs.copied().find(|need| waiting(need));
            }
            let Some(from) = next.and_then(|last| way.iter().position(|at| *at == last)) else {
                continue;
            };
            let way = way.get(from..).unwrap_or_default();
            self.cycle(way);
        }
    }

    fn cycle(&mut self, way: &[usize]) {
        let names: Vec<&LetName> = way.iter().filter_map(|at| self.names.get(*at)).collect();
        // Why so: it does not hang on where the search began.
        let least = names
            .iter()
            .enumerate()
            .min_by_key(|(_, name)| name.name.span);
        let Some((least, first)) = least else {
            return;
        };
        let (before, from) = names.split_at(least);
        let mut called: Vec<&str> = from
            .iter()
            .chain(before)
            .map(|name| name.name.value.as_str())
            .take(CYCLE_NAMES_SHOWN)
            .collect();
        let message = match called.as_slice() {
            [only] => format!("`let.{only}` stands for itself"),
            _ => {
                called.extend((names.len() > called.len()).then_some("…"));
                called.push(&first.name.value);
                format!("these names stand for each other: {}", called.join(" → "))
            }
        };
        let finding = Diagnostic::new(Code::BadLet, first.name.span, message);
        let step = first.step.clone();
        self.report(finding, step.as_ref());
    }
}
