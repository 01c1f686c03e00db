//! A copy of an example workspace with data of its own, and the real binary run in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use sim::canary;

/// Every HTTP tool of it sends a canary. When it is dropped, no canary may stand in any file of it.
pub struct Stage {
    dir: tempfile::TempDir,
}

impl Stage {
    /// Copies the example called `name`; its `data` comes along only if `with_data`.
    pub fn of(name: &str, with_data: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let example = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../examples")
            .join(name);
        copy(&example, dir.path(), with_data);
        std::fs::write(dir.path().join(canary::TOKEN_FILE), canary::TOKEN).unwrap();
        let stage = Self { dir };
        stage.edit("provost.toml", |text| text);
        stage
    }

    /// A workspace of one plan, `plan.yaml`, and a configuration of its own.
    pub fn of_plan(plan: &str, config: &str) -> Self {
        let stage = Self::of("sla", false);
        std::fs::remove_dir_all(stage.path().join("playbooks")).unwrap();
        std::fs::write(stage.path().join("plan.yaml"), plan).unwrap();
        stage.edit("provost.toml", |_| config.to_owned());
        stage
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Rewrites a file of the workspace.
    pub fn edit(&self, file: &str, change: impl FnOnce(String) -> String) {
        let path = self.dir.path().join(file);
        let mut text = change(std::fs::read_to_string(&path).unwrap());
        if !text.contains(canary::TOKEN_FILE) {
            let http = "kind = \"http\"\n";
            let bearer = format!(
                "{http}auth = {{ bearer = \"file:{}\" }}\n",
                canary::TOKEN_FILE
            );
            text = text.replace(http, &bearer);
        }
        std::fs::write(path, text).unwrap();
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_provost"));
        command
            .arg("-C")
            .arg(self.dir.path())
            .args(args)
            .env("NO_COLOR", "1")
            .env(canary::VARIABLE_NAME, canary::VARIABLE)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    /// Runs a command that the product printed: `provost … approve RUN@DIGEST`.
    pub fn run_printed(&self, line: &str) -> Ran {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let skip = if words.first() == Some(&"-C") { 2 } else { 0 };
        self.run(&words[skip..])
    }

    pub fn journal(&self) -> rusqlite::Connection {
        let path = self.dir.path().join(".provost/journal.db");
        rusqlite::Connection::open(path).unwrap()
    }

    /// How many events of a kind the journal holds.
    pub fn count(&self, kind: &str) -> i64 {
        self.journal()
            .query_row(
                "select count(*) from events where kind = ?1",
                [kind],
                |row| row.get(0),
            )
            .unwrap()
    }

    /// The only run, if there is one.
    pub fn only_run(&self) -> Option<String> {
        let journal = self.dir.path().join(".provost/journal.db");
        if !journal.exists() {
            return None;
        }
        let query = "select id from runs";
        self.journal().query_row(query, [], |row| row.get(0)).ok()
    }

    /// The payloads of all events of a kind.
    pub fn payloads(&self, kind: &str) -> Vec<serde_json::Value> {
        let journal = self.journal();
        let mut rows = journal
            .prepare("select payload from events where kind = ?1 order by seq")
            .unwrap();
        rows.query_map([kind], |row| row.get::<_, String>(0))
            .unwrap()
            .map(|text| serde_json::from_str(&text.unwrap()).unwrap())
            .collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(canary::leaks_below(self.path()), [""; 0]);
        }
    }
}

/// What a command printed and how it ended.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        for bytes in [&output.stdout, &output.stderr] {
            assert_eq!(canary::leaks(bytes), [""; 0]);
        }
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// All that was printed.
    pub fn all(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }

    /// The command to type that holds `verb`.
    #[track_caller]
    pub fn printed_command(&self, verb: &str) -> String {
        let all = self.all();
        let line = all
            .lines()
            .map(str::trim)
            .find(|line| line.contains("provost ") && line.contains(&format!(" {verb} ")));
        let line = line.unwrap_or_else(|| panic!("no `{verb}` command in\n{all}"));
        let start = line.find("provost ").unwrap();
        line[start..].trim_end_matches(['`', '.']).to_owned()
    }
}

fn copy(from: &Path, to: &Path, with_data: bool) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if name == ".provost" || (name == "data" && !with_data) {
            continue;
        }
        let target = to.join(&name);
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target, true);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// How many repetitions a test makes: `PROVOST_COUNT`, else `default`. Printed.
pub fn count(default: u32) -> u32 {
    let count = std::env::var("PROVOST_COUNT")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default);
    println!("count: {count}");
    count
}

/// A moment within the next `ms`, from a seed.
pub fn moment(seed: u64, ms: u64) -> Duration {
    let mut state = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    Duration::from_micros((state ^ (state >> 31)) % (ms * 1_000))
}
