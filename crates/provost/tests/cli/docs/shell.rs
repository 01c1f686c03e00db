//! A reader at a shell: commands as they are printed, in a folder of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;

use super::super::live::Terminal;
use super::super::workplace::Workplace;

/// What a command did.
pub struct Done {
    pub code: i32,
    pub text: String,
}

pub struct Shell {
    place: Workplace,
    dir: PathBuf,
}

fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    here.canonicalize().unwrap()
}

impl Shell {
    /// A folder with the examples of the repository and nothing else.
    pub fn new() -> Self {
        let place = Workplace::empty();
        let dir = place.path("").canonicalize().unwrap();
        let copied = Command::new("cp")
            .args(["-r", "examples", "packaging"])
            .arg(&dir)
            .current_dir(repository())
            .status();
        assert!(copied.unwrap().success());
        let journals = Command::new("find")
            .args([
                "examples", "-name", ".provost", "-prune", "-exec", "rm", "-r", "{}", "+",
            ])
            .current_dir(&dir)
            .status();
        assert!(journals.unwrap().success());
        std::fs::create_dir_all(dir.join("home")).unwrap();
        Self { place, dir }
    }

    fn top(&self) -> PathBuf {
        self.place.path("").canonicalize().unwrap()
    }

    /// What is typed, with the ids that stand in its place, below this folder and never elsewhere.
    fn meant(&self, line: &str) -> String {
        let top = self.top();
        let mut line = line.replace("cargo run -- ", "provost ");
        for folder in ["/tmp/", "/srv/"] {
            line = line.replace(folder, &format!("{}{folder}", top.display()));
        }
        if !line.contains("RUN") {
            return line;
        }
        let place = Regex::new("provost -C ([^ ]+)").unwrap();
        let inside = place.captures(&line).map(|found| found[1].to_owned());
        let (run, card) = self.newest(inside.as_deref().unwrap_or("."));
        let line = line.replace("RUN@DIGEST", &format!("{run}@{card}"));
        Regex::new(r"\bRUN\b")
            .unwrap()
            .replace_all(&line, run.as_str())
            .into_owned()
    }

    /// The newest run of a workspace, and the card that it waits for.
    fn newest(&self, workspace: &str) -> (String, String) {
        let listed = self.typed(&format!("provost -C {workspace} runs --json"));
        let runs: serde_json::Value = serde_json::from_str(&listed.text).unwrap_or_default();
        let text = |path: &str| runs.pointer(path).and_then(serde_json::Value::as_str);
        let digest = text("/runs/0/waiting_for/digest").unwrap_or_default();
        let digest = digest.trim_start_matches("sha256:").chars().take(16);
        let run = text("/runs/0/id").unwrap_or("NONE");
        (run.to_owned(), digest.collect())
    }

    /// Types a line as it is printed.
    pub fn types(&mut self, line: &str) -> Done {
        let line = self.meant(line);
        let done = self.typed(&line);
        if let Ok(dir) = std::fs::read_to_string(self.top().join("home/.pwd")) {
            self.dir = dir.trim().into();
        }
        done
    }

    fn typed(&self, script: &str) -> Done {
        let (top, provost) = (self.top(), Path::new(env!("CARGO_BIN_EXE_provost")));
        let path = std::env::var("PATH").unwrap();
        let script = format!(
            "exec 2>&1; [ -e ~/.env ] && . ~/.env\n{script}\ncode=$?; pwd > ~/.pwd; \
             export -p > ~/.env; exit $code"
        );
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&self.dir)
            .env_clear()
            .env("HOME", top.join("home"))
            .env("LANG", "C.UTF-8")
            .env(
                "PATH",
                format!("{}:{path}", provost.parent().unwrap().display()),
            )
            .env("PYTHONPATH", repository().join("packaging/python"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Done {
            code: output.status.code().unwrap_or(-1),
            text: String::from_utf8(output.stdout).unwrap(),
        }
    }

    /// Types a line at a terminal, and answers the one question that it asks.
    pub fn answers(&self, line: &str, question: &str, answer: &str) -> Done {
        let args = self.meant(line);
        let args = args.strip_prefix("provost ").unwrap();
        let mut terminal = Terminal::new(&self.place, (120, 60), args);
        terminal.until(|shown| shown.contains(question));
        terminal.types(&format!("{answer}\n"));
        Done {
            code: 0,
            text: terminal.all(),
        }
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.dir.join(name), text).unwrap();
    }

    /// What a command printed or is printed to print, without what differs each time.
    pub fn folded(&self, text: &str) -> Vec<String> {
        let top = self.top();
        let mut text = text.replace(&*top.to_string_lossy(), "");
        for (pattern, with) in [
            (r"\b[0-9.]+ (ms|s)\b", "TIME"),
            (r"\b[0-9a-f]{16,64}\b", "DIGEST"),
            (r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "MOMENT"),
            (
                r"\b(run:? +`?|approve |reject |resume |show )[a-z2-7]{12}\b",
                "${1}RUN",
            ),
        ] {
            let pattern = Regex::new(pattern).unwrap();
            text = pattern.replace_all(&text, with).into_owned();
        }
        let lines = text.lines().map(|line| line.trim_end().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    }
}
