//! Paths below a root, as calls write them.
//!
//! Owns what a path may look like. INVARIANT: a parsed path has only plain names: it cannot
//! climb, and one file has one spelling.

use provost_run::outcome::Class;

use crate::fault::{Fault, Request};
use crate::limits::{PATH_BYTES_MAX, PATH_DEPTH_MAX};

/// A path below a root: one or more plain names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RelativePath {
    parts: Vec<String>,
}

impl RelativePath {
    /// The path that an argument of a call gives.
    pub(crate) fn of(request: &Request, arg: &str) -> Result<Self, Fault> {
        Self::parse(arg, request.text(arg).unwrap_or_default())
    }

    /// Reads a path that the argument `arg` gives.
    pub(crate) fn parse(arg: &str, text: &str) -> Result<Self, Fault> {
        let refused = |message: String| Fault::refused(arg, Class::InvalidArguments, message);
        let invalid =
            |what: &str| refused(format!("`{text}` is not a path below the root: {what}"));
        let leaves = |why: &str| {
            let message = format!("`{text}` would leave the root: {why}");
            Fault::refused(arg, Class::PermissionDenied, message)
        };
        if text.is_empty() {
            return Err(invalid("it is empty"));
        }
        if text.len() > PATH_BYTES_MAX {
            return Err(refused(format!(
                "a path has at most {PATH_BYTES_MAX} bytes"
            )));
        }
        if text.chars().any(char::is_control) {
            return Err(invalid("it holds a control character"));
        }
        if text.starts_with('/') {
            return Err(leaves("it begins with `/`"));
        }
        let parts = text.split('/').map(str::to_owned).collect::<Vec<_>>();
        if parts.iter().any(|part| part == "..") {
            return Err(leaves("it holds `..`"));
        }
        if parts.iter().any(|part| part.is_empty() || part == ".") {
            return Err(invalid("it holds an empty part or `.`"));
        }
        if parts.len() > PATH_DEPTH_MAX {
            return Err(invalid("it is too deep"));
        }
        Ok(Self { parts })
    }

    /// The folders on the way and the last name.
    pub(crate) fn split(&self) -> (&[String], &str) {
        match self.parts.split_last() {
            Some((name, folders)) => (folders, name),
            None => (&[], ""),
        }
    }

    /// The path as written.
    pub(crate) fn shown(&self) -> String {
        self.parts.join("/")
    }
}

#[cfg(test)]
mod tests {
    use provost_run::outcome::Class;

    use super::RelativePath;

    #[test]
    fn a_path_has_only_plain_names() {
        let class = |text: &str| {
            RelativePath::parse("path", text)
                .err()
                .map(|fault| fault.class)
        };
        for good in ["a", "a/b.txt", "a b/ü", ".hidden", "a/..b", "..."] {
            assert_eq!(class(good), None, "{good}");
        }
        for climbing in ["..", "../a", "a/../b", "a/..", "/", "/etc/passwd", "//a"] {
            assert_eq!(class(climbing), Some(Class::PermissionDenied), "{climbing}");
        }
        let long = "a".repeat(2_000);
        let deep = "a/".repeat(40) + "a";
        for wrong in ["", ".", "a//b", "a/", "./a", "a\0b", "a\nb", &long, &deep] {
            assert_eq!(class(wrong), Some(Class::InvalidArguments), "{wrong:?}");
        }
    }
}
