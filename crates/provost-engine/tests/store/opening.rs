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

/// The first calls of a new directory come at once, and each looks while another creates.
#[test]
fn a_store_that_many_open_first_is_one_store_to_all() {
    for _ in 0..60 {
        let dir = tempfile::tempdir().unwrap();
        let start = std::sync::Barrier::new(8);
        let open = || {
            start.wait();
            Store::open(dir.path()).map(drop)
        };
        std::thread::scope(|scope| {
            let opened: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            for one in opened {
                one.join().unwrap().unwrap();
            }
        });
    }
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
    connection.pragma_update(None, "user_version", 15).unwrap();
    drop(connection);
    let (message, hint) = error(dir.path());
    assert_eq!(
        message,
        "DIR/journal.db has format 15, but this version reads up to 14"
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

/// Cut anywhere, with its log beside or without: nobody opens it, and nothing of it is written.
#[test]
fn a_journal_whose_end_is_missing_is_opened_by_nobody() {
    let dir = small_store();
    let file = dir.path().join("journal.db");
    let whole = fs::read(&file).unwrap();
    let half = whole.len() / 2 / 4096 * 4096;
    for keep in [
        whole.len() - 1,
        whole.len() - 100,
        whole.len() - 4096,
        half,
        50,
    ] {
        fs::write(&file, &whole[..keep]).unwrap();
        let (message, hint) = error(dir.path());
        assert!(message.ends_with("its end is missing"), "{keep}: {message}");
        assert!(hint.unwrap().contains("backup"));
        let read = Store::open_read_only(dir.path()).unwrap_err();
        assert_eq!(read.to_string(), message, "{keep}");
        if keep % 4096 != 0 && keep > 4096 {
            let said = super::second(dir.path()).stderr;
            let said = String::from_utf8(said).unwrap();
            assert!(said.contains("its end is missing"), "{keep}: {said}");
        }
        assert_eq!(fs::read(&file).unwrap(), &whole[..keep], "{keep}");
    }
    // The control: whole again, it is opened and is what it was.
    fs::write(&file, &whole).unwrap();
    assert_eq!(
        Store::open(dir.path()).unwrap().verify().unwrap().events,
        10
    );
}

/// A process that was killed leaves a log beside the file, which may hold its last pages.
#[test]
fn a_journal_with_a_log_is_opened_unless_neither_has_its_end() {
    let dir = small_store();
    let (file, log) = (
        dir.path().join("journal.db"),
        dir.path().join("journal.db-wal"),
    );
    let store = Store::open(dir.path()).unwrap();
    store.claim("aaa").wait().unwrap();
    for seq in 6..40 {
        store.append(super::append("aaa", seq, 1)).wait().unwrap();
    }
    let (before, logged) = (fs::read(&file).unwrap(), fs::read(&log).unwrap());
    drop(store);
    let put = |bytes: &[u8], logged: &[u8]| {
        let killed = tempfile::tempdir().unwrap();
        fs::write(killed.path().join("journal.db"), bytes).unwrap();
        fs::write(killed.path().join("journal.db-wal"), logged).unwrap();
        killed
    };
    let whole = put(&before, &logged);
    assert_eq!(
        Store::open(whole.path()).unwrap().verify().unwrap().events,
        44
    );
    let (frame, all) = (32 + 4096 + 24, logged.len());
    let (page, len) = (4096, before.len());
    for (keep, log) in [(len - 100, all), (len - 3 * page, frame), (2 * page, frame)] {
        let cut = put(&before[..keep], &logged[..log]);
        let (message, _) = error(cut.path());
        assert!(message.contains("is damaged: "), "{keep}: {message}");
        let left = fs::read(cut.path().join("journal.db")).unwrap();
        assert_eq!(left, &before[..keep], "{keep}");
    }
}

#[test]
fn a_journal_that_was_emptied_is_damaged_and_a_new_one_is_not() {
    let dir = small_store();
    let file = dir.path().join("journal.db");
    fs::write(&file, "").unwrap();
    let (message, _) = error(dir.path());
    let said = "the file of the journal is damaged: it is empty, and a journal was kept in it";
    assert_eq!(message, said);
    let read = Store::open_read_only(dir.path()).unwrap_err();
    assert_eq!(read.to_string(), said);
    assert_eq!(fs::metadata(&file).unwrap().len(), 0);
    // The control: a process that was killed while it made the first journal stops nobody.
    let new = tempfile::tempdir().unwrap();
    fs::write(new.path().join("journal.db"), "").unwrap();
    assert!(matches!(
        Store::open_read_only(new.path()),
        Err(StoreError::Missing { .. })
    ));
    drop(Store::open(new.path()).unwrap());
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
    // Why again: a process that another test starts holds the copy open for a moment, and what is
    // open for writing cannot be run.
    let output = loop {
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::yield_now();
            }
            other => break other.ok()?,
        }
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let words = ["running", "test ", "test result", "ok"];
    text.lines()
        .find(|line| !line.trim().is_empty() && !words.iter().any(|word| line.starts_with(word)))
        .map(str::to_owned)
}

/// A journal as the first version wrote it: its tables, one run of two events, format 1.
fn format_1(dir: &Path) {
    let whole = small_store();
    fs::create_dir_all(dir).unwrap();
    let old = rusqlite::Connection::open(dir.join("journal.db")).unwrap();
    old.execute_batch(include_str!("../../src/store/sqlite/schema.sql"))
        .unwrap();
    old.pragma_update(None, "application_id", 0x7072_6f76)
        .unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    let from = whole.path().join("journal.db").display().to_string();
    old.execute("ATTACH ?1 AS whole", [from]).unwrap();
    for table in ["meta", "runs", "commits", "events", "evidence"] {
        let sql = format!("SELECT group_concat(name) FROM pragma_table_info('{table}', 'main')");
        let columns: String = old.query_row(&sql, [], |row| row.get(0)).unwrap();
        old.execute_batch(&format!(
            "INSERT INTO {table} ({columns}) SELECT {columns} FROM whole.{table}"
        ))
        .unwrap();
    }
}

/// The copies beside a journal, whole or not.
fn copies(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains(".format"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_journal_of_the_first_format_is_read_and_brought_up() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    format_1(dir.path());
    let read = Store::open_read_only(dir.path()).unwrap();
    let before = read.load("aaa").unwrap();
    let verified = read.verify().unwrap();
    assert_eq!((verified.events, verified.commits), (10, 5));
    let unknown = provost_engine::store::Evidence::new("text/plain", b"x".to_vec()).digest();
    assert_eq!(read.evidence(&unknown), Ok(None));
    drop(read);

    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.load("aaa").unwrap(), before);
    store.claim("aaa").wait().unwrap();
    store.append(super::append("aaa", 6, 1)).wait().unwrap();
    assert_eq!(store.prune(i64::MAX, 1).unwrap().pieces, 0);
    assert_eq!(store.verify().unwrap().events, 11);
    drop(store);
    let file = rusqlite::Connection::open(dir.path().join("journal.db")).unwrap();
    let format: i64 = file
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(format, 14);
    drop(file);
    // The journal as it was is kept, whole and private, and goes on where it is restored.
    assert_eq!(copies(dir.path()), ["journal.db.format1"]);
    let kept = dir.path().join("journal.db.format1");
    let mode = fs::metadata(&kept).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let elsewhere = tempfile::tempdir().unwrap();
    fs::copy(&kept, elsewhere.path().join("journal.db")).unwrap();
    let back = Store::open_read_only(elsewhere.path()).unwrap();
    assert_eq!(back.load("aaa").unwrap(), before);
    assert_eq!(back.verify().unwrap().events, 10);
    // The control: a journal of this format is not copied.
    let current = small_store();
    drop(Store::open(current.path()).unwrap());
    assert_eq!(copies(current.path()), [""; 0]);
    // What stood unfinished in an older journal is due, whoever works there next.
    let ready = Store::open(dir.path()).unwrap();
    let look = ready.look(i64::MAX, 9, &|_| false).unwrap();
    assert_eq!(look.ready, ["abb", "ccc"]);
}
