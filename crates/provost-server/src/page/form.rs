//! What a form sends: names and values, some of them several times.
//!
//! Owns the reading. INVARIANT: a form that is no text is refused, and a name that nobody knows is
//! never silently left out by whoever reads it.

use std::collections::BTreeMap;

use crate::problem::{Problem, ProblemKind};

/// The fields of a form.
#[derive(Debug, Default)]
pub(crate) struct FormFields(BTreeMap<String, Vec<String>>);

impl FormFields {
    /// Reads the body of a form.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Problem> {
        let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in body
            .split(|byte| *byte == b'&')
            .filter(|pair| !pair.is_empty())
        {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let mut half = || decoded(halves.next().unwrap_or_default());
            let (name, value) = (half(), half());
            match (name, value) {
                (Some(name), Some(value)) => fields.entry(name).or_default().push(value),
                _ => {
                    let detail = "a field of the form is no text";
                    return Err(Problem::new(ProblemKind::BadRequest, detail));
                }
            }
        }
        Ok(Self(fields))
    }

    /// A field that stands once; empty text is as good as none.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let value = self.0.remove(name)?.into_iter().next()?;
        (!value.trim().is_empty()).then_some(value)
    }

    /// A field that must be there.
    pub(crate) fn need(&mut self, name: &str) -> Result<String, Problem> {
        self.take(name).ok_or_else(|| {
            let detail = format!("the form lacks `{name}`");
            Problem::new(ProblemKind::BadRequest, detail)
        })
    }

    /// A field that may stand several times.
    pub(crate) fn all(&mut self, name: &str) -> Vec<String> {
        self.0.remove(name).unwrap_or_default()
    }

    /// Refuses what was not read.
    pub(crate) fn end(self) -> Result<(), Problem> {
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(name) => {
                let detail = format!("the form has a field `{name}` that is not known here");
                Err(Problem::new(ProblemKind::BadRequest, detail))
            }
        }
    }
}

/// A half of a field: `+` is a space, and `%` with two digits is a byte.
fn decoded(half: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(half.len());
    let mut rest = half.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes)
        .ok()
        .map(|text| text.replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_form_is_read_and_what_is_not_known_is_refused() {
        let mut fields = FormFields::read(b"a=x+%C3%A4%26&steps=1&steps=2&empty=&z").unwrap();
        assert_eq!(fields.need("a").unwrap(), "x \u{e4}&");
        assert_eq!(fields.all("steps"), ["1", "2"]);
        assert_eq!(fields.take("empty"), None);
        assert!(fields.need("gone").is_err());
        assert!(fields.end().unwrap_err().detail.contains("`z`"));
        assert!(FormFields::read(b"").unwrap().end().is_ok(), "the control");
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for body in [&b"a=%ff"[..], b"a=%4", b"a=%zz", b"%=1"] {
            assert!(FormFields::read(body).is_err(), "{body:?}");
        }
    }
}
