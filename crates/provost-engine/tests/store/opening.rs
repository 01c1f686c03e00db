//! What is wrong with a store is said in plain words, with a hint, and nothing is changed.

use std::fs;
use std::path::Path;

use provost_engine::store::{Store, StoreError};

use super::small_store;

fn error(dir: &Path) -> (String, Option<&'static str>) {
    let error = Store::open(dir).unwrap_err();
    let text = error.to_string().replace(&dir.display().to_string(), "DIR");
    (text, error.hint())
}

#[test]
fn a_store_is_created_private_and_out_of_version_control() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("a/.provost");
    assert!(matches!(
        Store::open_read_only(&store),
        Err(StoreError::Missing { .. })
    ));
    drop(Store::open(&store).unwrap());
    assert_eq!(fs::read_to_string(store.join(".gitignore")).unwrap(), "*\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&store).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
    assert_eq!(
        Store::open_read_only(&store)
            .unwrap()
            .verify()
            .unwrap()
            .commits,
        0
    );
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("journal.db");
    let text = "this is not a database, it only lies where one should lie\n".repeat(100);
    fs::write(&file, &text).unwrap();
    let (message, hint) = error(dir.path());
    assert_eq!(
        message,
        "DIR/journal.db is not a provost journal: file is not a database"
    );
    assert!(hint.unwrap().contains("backup"));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_database_of_something_else_is_named_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("journal.db");
    let other = rusqlite::Connection::open(&file).unwrap();
    other
        .execute_batch("CREATE TABLE cats (name TEXT)")
        .unwrap();
    drop(other);
    let before = fs::read(&file).unwrap();
    let (message, _) = error(dir.path());
    assert_eq!(
        message,
        "DIR/journal.db is not a provost journal: it is a database of something else"
    );
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_newer_format_is_refused() {
    let dir = small_store();
    let connection = rusqlite::Connection::open(dir.path().join("journal.db")).unwrap();
    connection.pragma_update(None, "user_version", 7).unwrap();
    drop(connection);
    let (message, hint) = error(dir.path());
    assert_eq!(
        message,
        "DIR/journal.db has format 7, but this version reads up to 1"
    );
    assert_eq!(
        hint,
        Some("use the version of provost that wrote it, or a later one")
    );
}

#[test]
fn a_damaged_journal_is_said_to_be_damaged() {
    let dir = small_store();
    let file = dir.path().join("journal.db");
    let mut bytes = fs::read(&file).unwrap();
    let len = bytes.len();
    for byte in &mut bytes[4096..len] {
        *byte = 0x5a;
    }
    fs::write(&file, bytes).unwrap();
    let (message, hint) = error(dir.path());
    assert!(message.contains("malformed"), "{message}");
    assert!(hint.unwrap().contains("backup"));
}

#[test]
fn a_file_where_the_store_should_be_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join(".provost");
    fs::write(&store, "").unwrap();
    let (message, hint) = error(&store);
    assert_eq!(
        message,
        "the store DIR cannot be written: File exists (os error 17)"
    );
    assert!(hint.is_some());
}

/// A child under another user: the tests may run as root, whom permissions do not stop.
#[cfg(unix)]
#[test]
fn a_store_that_may_only_be_read_can_be_read_and_says_why_it_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = small_store();
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(&dir.path().join("journal.db"), 0o444);
    set(dir.path(), 0o555);
    let Some(said) = as_nobody("open", dir.path()) else {
        eprintln!("not looked at: this user cannot start a process of another user");
        set(dir.path(), 0o755);
        return;
    };
    assert!(said.contains("cannot be written"), "{said}");
    assert!(
        said.contains("run as the user who owns the workspace"),
        "{said}"
    );
    assert_eq!(as_nobody("read", dir.path()).unwrap(), "read 6");
    set(dir.path(), 0o755);
}

/// What a child of user `nobody` says; of this user, where it is not root.
#[cfg(unix)]
fn as_nobody(part: &str, dir: &Path) -> Option<String> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    // Why a copy: another user may not be able to reach the build directory.
    let copy = tempfile::tempdir().unwrap();
    fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = copy.path().join("child");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = std::process::Command::new(program);
    command
        .args(["--exact", "children::play", "--nocapture", "--ignored"])
        .env("PROVOST_PART", part)
        .env("PROVOST_DIR", dir)
        .current_dir("/");
    if fs::metadata(copy.path()).unwrap().uid() == 0 {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    let words = ["running", "test ", "test result", "ok"];
    text.lines()
        .find(|line| !line.trim().is_empty() && !words.iter().any(|word| line.starts_with(word)))
        .map(str::to_owned)
}
