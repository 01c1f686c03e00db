//! Canaries: secrets that a test plants, and the search for them in all that it left behind.
//!
//! Owns their values, and the look at every file of a workspace: its bytes as they lie on the disk
//! and, of a database, each value as it is read. Never judges which place may hold one: the files
//! that a secret is read from end in `.canary`, and no other may. INVARIANT: a file that cannot be
//! read is told as one that leaks.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rusqlite::types::ValueRef;

pub mod forms;

/// Of a variable of the process that no configuration names.
pub const VARIABLE: &str = "canary/of-a-variable+Kx81";
/// The name of that variable.
pub const VARIABLE_NAME: &str = "PROVOST_CANARY";
/// Of a key: of a model, or of whatever takes one.
pub const KEY: &str = "canary/of-a-key+Wp47tq";
/// The name of the variable that holds the key.
pub const KEY_NAME: &str = "PROVOST_CANARY_KEY";
/// Of a file: a bearer token, a password, a passphrase.
pub const TOKEN: &str = "canary/of-a-file+Jm02yc";
/// The name of that file, in the workspace.
pub const TOKEN_FILE: &str = "token.canary";
/// Of a webhook, as receivers give them out.
pub const WEBHOOK: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const ALL: [&str; 4] = [VARIABLE, KEY, TOKEN, WEBHOOK];

/// Which canaries stand in `bytes`, and in which form: none, if all is well.
#[must_use]
pub fn leaks(bytes: &[u8]) -> Vec<String> {
    leaks_of(&ALL, bytes)
}

/// Which canaries stand in the files below `dir`, each behind its path.
#[must_use]
pub fn leaks_below(dir: &Path) -> Vec<String> {
    leaks_below_of(&ALL, dir)
}

/// The same for other values.
#[must_use]
pub fn leaks_of(values: &[&str], bytes: &[u8]) -> Vec<String> {
    let found = forms::found_of(values, bytes).into_iter();
    found
        .map(|(value, form)| format!("`{value}` in {form}"))
        .collect()
}

/// The same for other values.
#[must_use]
pub fn leaks_below_of(wanted: &[&str], dir: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut all = listed(dir, &mut files)
        .err()
        .into_iter()
        .collect::<Vec<_>>();
    let mut databases = Vec::new();
    for path in &files {
        let found = match fs::read(path) {
            Ok(bytes) => {
                if bytes.starts_with(b"SQLite format 3\0") {
                    databases.push(path);
                }
                leaks_of(wanted, &bytes)
            }
            // Why: a process that ends takes files of its own with it.
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => vec![error.to_string()],
        };
        all.extend(found.into_iter().map(|leak| told(path, &leak)));
    }
    // Why twice, and last: what is long lies in pages apart, what was deleted in no table, and who
    // opens a database changes the files beside it.
    for path in databases {
        match values(path) {
            Ok(values) => {
                let found = leaks_of(wanted, &values).into_iter();
                all.extend(found.map(|leak| told(path, &leak)));
            }
            Err(error) if is_damaged(&error) => {}
            Err(error) => all.push(told(path, &error.to_string())),
        }
    }
    all
}

fn told(path: &Path, leak: &str) -> String {
    format!("{}: {leak}", path.display())
}

/// Lists every file below that is looked at.
fn listed(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(dir).map_err(|error| told(dir, &error.to_string()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let kind = entry.file_type();
        let kind = kind.map_err(|error| told(&path, &error.to_string()))?;
        if kind.is_dir() {
            listed(&path, files)?;
        } else if kind.is_file() && path.extension().is_none_or(|end| end != "canary") {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a test damaged the database on purpose: then its bytes are all there is to look at.
fn is_damaged(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    code.is_some_and(|code| {
        let damaged = [ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase];
        damaged.contains(&code)
    })
}

/// Every text and every blob of a database, one behind the other.
fn values(path: &Path) -> rusqlite::Result<Vec<u8>> {
    let database = rusqlite::Connection::open(path)?;
    let mut tables = database.prepare("select name from sqlite_schema where type = 'table'")?;
    let names = tables.query_map([], |row| row.get::<_, String>(0))?;
    let mut all = Vec::new();
    for name in names {
        let query = format!("select * from \"{}\"", name?.replace('"', "\"\""));
        let mut rows = database.prepare(&query)?;
        let columns = rows.column_count();
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(column)? {
                    all.extend(bytes);
                    all.push(b'\n');
                }
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::{KEY, TOKEN, TOKEN_FILE, VARIABLE, forms, leaks, leaks_below};

    #[test]
    fn each_form_is_found_in_a_file_and_in_a_database() {
        for value in [VARIABLE, KEY, TOKEN] {
            for (name, form) in forms::written(value) {
                let dir = tempfile::tempdir().unwrap();
                std::fs::write(dir.path().join("log"), format!("a{form}b")).unwrap();
                let path = dir.path().join("x.db");
                let database = rusqlite::Connection::open(&path).unwrap();
                database.execute_batch("create table t (a)").unwrap();
                let text = "x".repeat(5_000) + &form.to_uppercase();
                database
                    .execute("insert into t values (?1)", [&text])
                    .unwrap();
                drop(database);
                let found = leaks_below(dir.path());
                // In the log, in the bytes of the database, and in what is read from it.
                let named = found
                    .iter()
                    .filter(|leak| leak.ends_with(&format!(" in {name}")));
                assert!(named.count() >= 2, "{name}: {found:?}");
                assert!(found.iter().all(|leak| leak.contains(value)), "{found:?}");
            }
        }
    }

    #[test]
    fn a_value_cut_by_the_end_of_a_page_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let database = rusqlite::Connection::open(&path).unwrap();
        database.execute_batch("create table t (a)").unwrap();
        let all = (0..30).map(|more| "x".repeat(4_075 + more) + KEY);
        for text in all {
            database.execute("delete from t", []).unwrap();
            database
                .execute("insert into t values (?1)", [text])
                .unwrap();
            assert!(!leaks_below(dir.path()).is_empty());
        }
    }

    #[test]
    fn base64_is_found_wherever_it_begins() {
        for before in ["", "a", "ab", "abc", "{\"k\":\""] {
            for after in ["", "z", "zz", "\"}"] {
                let whole = format!("{before}{TOKEN}{after}");
                let [_, (_, text), ..] = forms::written(&whole);
                assert_eq!(forms::found(TOKEN, text.as_bytes()), ["base64"], "{text}");
                let url = text.replace('+', "-").replace('/', "_");
                assert_eq!(forms::found(TOKEN, url.as_bytes()), ["base64"], "{url}");
            }
        }
    }

    /// The control: what is no canary, and the file that a secret is read from, are let through.
    #[test]
    fn what_is_no_canary_is_let_through() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(TOKEN_FILE), TOKEN).unwrap();
        std::fs::write(dir.path().join("log"), "canary/of-a-file").unwrap();
        assert_eq!(leaks_below(dir.path()), [""; 0]);
        assert_eq!(leaks(b""), [""; 0]);
    }
}
