//! The controls of the lists: what somebody would write who does not think of them. Of each class
//! at least one line gets through, so a list that no longer bites is noticed.

use std::process::{Command, Stdio};

use super::*;

/// Whether at least one line of every class gets through.
fn bites(list: &str, through: impl Fn(&str) -> bool) {
    for (class, lines) in classes(list) {
        let count = lines.iter().filter(|line| through(line)).count();
        assert!(count > 0, "{list}: nothing of “{class}” gets through");
    }
}

/// `%2e` as `.`, as often as it is there.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Letters that look alike, as the plain ones, and what HTML writes for a quote.
fn folded(text: &str) -> String {
    let mut text = text.replace("&#39;", "'").replace("&#x27;", "'");
    for (from, to) in [
        ('．', "."),
        ('‥', ".."),
        ('／', "/"),
        ('％', "%"),
        ('ʼ', "'"),
        ('＇', "'"),
    ] {
        text = text.replace(from, to);
    }
    text.replace("%c0%ae", ".")
        .replace("%c0%af", "/")
        .replace("\\u0027", "'")
}

#[test]
fn sql_that_is_pasted_is_more_than_a_value() {
    let data = "create table t (id integer, name text); create table log (text text);
        insert into t values (1, 'a'), (2, 'b');";
    // What a list of names gives for a name that nobody has: nothing, and two things are left.
    let is_value = |sql: &str| {
        let database = rusqlite::Connection::open_in_memory().unwrap();
        database.execute_batch(data).unwrap();
        let Ok(statement) = database.prepare(sql) else {
            return false;
        };
        if statement.parameter_count() > 0 {
            return false;
        }
        drop(statement);
        let found: rusqlite::Result<i64> = database.query_row(sql, [], |row| row.get(0));
        let fine = matches!(found, Err(rusqlite::Error::QueryReturnedNoRows));
        fine && database.execute_batch(sql).is_ok()
            && database.query_row("select count(*) from t", [], |row| row.get(0)) == Ok(2)
    };
    bites("sql.txt", |line| {
        let once = decoded(line);
        [line, &once, &decoded(&once), &folded(line)]
            .iter()
            .any(|text| !is_value(&format!("select id from t where name = '{text}'")))
            || !is_value(&format!("select id from t where name = '' || {line}"))
            || !is_value(&format!("select id from t where name like '{line}'"))
    });
    // The control of the control: an honest name is a value.
    assert!(is_value("select id from t where name = 'nobody'"));
}

#[test]
fn a_path_that_is_joined_leaves_the_root() {
    let workspace = with_ways_out();
    workspace
        .write("work/KEY.PEM", "k")
        .write("work/key.pem", "k");
    let root = workspace.path("work").canonicalize().unwrap();
    let leaves = |path: &str| {
        let found = root.join(path).canonicalize();
        found.is_ok_and(|path| !path.starts_with(&root) || path.extension() == Some("pem".as_ref()))
    };
    let shell = |line: &str| {
        // Why anew: a line may write over it.
        workspace.write("secret", "hunter2");
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("cat {line}")])
            .current_dir(&root)
            .stdin(Stdio::null());
        command
            .env("HOME", workspace.dir.path())
            .stderr(Stdio::null());
        String::from_utf8_lossy(&command.output().unwrap().stdout).contains("hunter2")
    };
    bites("paths.txt", |line| {
        let line = unwritten(line);
        let once = decoded(&line);
        // A check of the end, and then a C library, for which a zero byte ends the text.
        let ended = line.split('\0').next().unwrap_or_default();
        let address = line.trim_start_matches("file:").replace("//localhost", "");
        // A filter that takes `../` out once, or what stands behind `;`.
        let filtered = folded(&line).replace("../", "").replace(';', "");
        [
            &*line,
            ended,
            &address,
            &once,
            &decoded(&once),
            &folded(&line),
            &line.replace('\\', "/"),
            &filtered,
        ]
        .iter()
        .any(|path| leaves(path))
            || line.starts_with('-')
            || shell(&line.replace('\0', ""))
    });
    assert!(!leaves("a.txt") && !shell("a.txt"));
}

/// The host of an address, as a client reads it.
fn host(address: &str) -> Option<String> {
    let address = address.replace('\\', "/");
    let (scheme, rest) = address.split_once(':')?;
    let rest = rest.trim_start_matches('/');
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    Some(format!("{}:{host}", scheme.to_lowercase()))
}

#[test]
fn an_address_that_is_pasted_is_another() {
    let ours = "http://good.example";
    let is_ours = |address: &str| host(address).as_deref() == Some("http:good.example");
    bites("addresses.txt", |line| {
        let line = unwritten(line);
        let once = decoded(&line);
        let texts = [
            line.clone(),
            once.clone(),
            decoded(&once),
            folded(&line),
            decoded(&folded(&line)),
        ];
        texts.iter().any(|text| {
            // Joined as a link is: what is an address of its own replaces ours.
            let slashed = text.replace('\\', "/");
            let whole = if slashed.starts_with("//") {
                format!("http:{text}")
            } else {
                text.clone()
            };
            let replaces = whole.contains(":/") || text.contains(':');
            let beside = format!("{ours}{text}");
            let segments = slashed
                .split('/')
                .any(|part| [".", ".."].contains(&part.split(';').next().unwrap()));
            let parts = text.contains(['/', '?', '#', '&', ';', ' ', '\r', '\n']);
            (replaces && !is_ours(&whole)) || !is_ours(&beside) || segments || parts
        })
    });
    assert!(is_ours(&format!("{ours}/things/7")));
}

#[test]
fn an_argument_that_is_pasted_is_more_than_one() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "-x\n").unwrap();
    let run = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(dir.path())
            .stdin(Stdio::null());
        command.env("LC_ALL", "C").output().unwrap()
    };
    // Why no PATH: a line may name programs, and none is to be found.
    let words = |text: &str| {
        let script = format!("PATH=; printf '[%s]' {text}");
        String::from_utf8_lossy(&run("sh", &["-c", &script]).stdout).into_owned()
    };
    bites("arguments.txt", |line| {
        let value: Value = serde_json::from_str(line).unwrap();
        let Value::String(text) = &value else {
            // What is no text is printed as something, and what is empty is left out.
            return words(&value.to_string().replace('"', "")) != format!("[{value}]");
        };
        let cut = text.split('\0').next().unwrap_or_default();
        let plain = text
            .replace(['–', '−', '﹣'], "-")
            .replace(['\n', '\r', '\u{2028}'], " ");
        let option = |text: &str| {
            let seen = run("cat", &[text]);
            seen.status.success() || String::from_utf8_lossy(&seen.stderr).contains("option")
        };
        let read = run("sort", &["--files0-from=-", cut]);
        let response = text
            .strip_prefix('@')
            .is_some_and(|file| dir.path().join(file).is_file());
        cut != text
            || words(cut) != format!("[{text}]")
            || plain.split(' ').any(option)
            || response
            || read.status.success()
    });
    assert_eq!(words("plain"), "[plain]");
}
