//! The live view on a terminal: what is seen in a window, and what is left above it in the end.
//!
//! The binary runs on a pseudo-terminal of `script`; what it writes goes through a terminal
//! emulator, so the pictures are what a person sees.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use regex::Regex;

use super::workplace::Workplace;

const SCROLLBACK: usize = 50_000;

const TOOL: &str = r#"[workspace]
user = "ada"
[limits]
steps = 400
calls = 400
attempts = 1000
concurrency = 6
wall = "24h"
[tools.job]
kind = "command"
root = "jobs"
[tools.job.ops.quick]
argv = ["true"]
effect = "read"
[tools.job.ops.slow]
argv = ["sh", "-c", "until [ -e go ]; do sleep 0.02; done"]
effect = "read"
[tools.job.ops.ship]
argv = ["true"]
effect = "write"
"#;

/// A plan of so many steps: quick ones, then four that run for long and one that is asked about,
/// then as many as are left.
fn plan(steps: usize) -> String {
    let quick = (steps - 3) / 2;
    let slow = if steps > 10 { 4 } else { 1 };
    let mut text =
        String::from("schema: provost/plan/v1\ngoal: { text: Move all the parcels }\nsteps:\n");
    for n in 1..=quick {
        text += &format!("  - {{ id: quick_{n}, tool: job.quick }}\n");
    }
    let first = if quick > 0 { "[quick_1]" } else { "[]" };
    for n in 1..=slow {
        text += &format!("  - {{ id: slow_{n}, tool: job.slow, needs: {first} }}\n");
    }
    text += &format!("  - {{ id: ship, tool: job.ship, approval: required, needs: {first} }}\n");
    for n in 1..=steps - quick - slow - 1 {
        text += &format!("  - {{ id: later_{n}, tool: job.quick, needs: [slow_1] }}\n");
    }
    text += "success:\n  - { for: goal, check: '${ steps.ship.status == \"succeeded\" }' }\n";
    text + "answer:\n  - { text: \"Moved.\", cites: [ship] }\n"
}

/// A window in which a command runs.
pub struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    pub fn new(place: &Workplace, (columns, lines): (u16, u16), args: &str) -> Self {
        let binary = env!("CARGO_BIN_EXE_provost");
        let command = format!("stty cols {columns} rows {lines}; {binary} {args}");
        let mut script = place.command(&[]);
        let mut child = std::process::Command::new("script");
        child.current_dir(script.get_current_dir().unwrap());
        let set = script
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        child
            .envs(set)
            .env("TERM", "xterm-256color")
            .env("NO_COLOR", "1");
        child.args(["-q", "-e", "-c", &command, "/dev/null"]);
        child
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        script.stdin(Stdio::null());
        let mut child = child.spawn().unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(lines, columns, SCROLLBACK)));
        let mut out = child.stdout.take().unwrap();
        let drawn = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = out.read(&mut bytes) {
                let mut drawn = drawn.lock().unwrap_or_else(PoisonError::into_inner);
                drawn.process(&bytes[..n]);
            }
        });
        let keys = child.stdin.take().unwrap();
        Self {
            child,
            keys,
            screen,
        }
    }

    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen shows what is asked for, and gives it.
    pub fn until(&self, shows: impl Fn(&str) -> bool) -> String {
        self.wait(|contents, _| shows(contents))
    }

    /// Waits for what is asked for of the contents and of the column in which the cursor stands.
    fn wait(&self, shows: impl Fn(&str, u16) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let (contents, column) = {
                let parser = self.screen.lock().unwrap();
                let (_, column) = parser.screen().cursor_position();
                (parser.screen().contents(), column)
            };
            if shows(&contents, column) {
                return contents;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "not shown:\n{contents}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Everything that can be scrolled to, once the command has ended.
    pub fn all(mut self) -> String {
        drop(self.keys);
        assert!(self.child.wait().unwrap().success());
        let ended = Instant::now();
        while Arc::strong_count(&self.screen) > 1 {
            assert!(ended.elapsed() < Duration::from_secs(10), "it still writes");
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut parser = self.screen.lock().unwrap();
        scrolled(&mut parser)
    }
}

/// The lines of a terminal, with those that were scrolled out of sight.
fn scrolled(parser: &mut vt100::Parser) -> String {
    let screen = parser.screen_mut();
    screen.set_scrollback(usize::MAX);
    let above = screen.scrollback();
    let (_, columns) = screen.size();
    let mut lines = Vec::new();
    for back in (1..=above).rev() {
        screen.set_scrollback(back);
        lines.extend(screen.rows(0, columns).next());
    }
    screen.set_scrollback(0);
    lines.extend(screen.rows(0, columns));
    lines.join("\n").trim_end().to_owned()
}

/// How often a step that runs is left behind in what can be scrolled to.
fn left_behind(all: &str) -> usize {
    all.lines()
        .filter(|line| line.contains(" running "))
        .count()
}

fn settled(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, with) in [
        ("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z", "MOMENT"),
        (r"\b[0-9.]+ (ms|s)\b", "TIME"),
        (r"\b[a-z2-7]{12}\b", "RUN"),
        (r"(sha256:|@)[0-9a-f]+", "${1}DIGEST"),
        (r"[0-9a-f]{16,}", "DIGEST"),
        (r"(?m) +$", ""),
    ] {
        text = Regex::new(pattern)
            .unwrap()
            .replace_all(&text, with)
            .into_owned();
    }
    text
}

fn place(steps: usize) -> Workplace {
    let place = Workplace::new();
    place.write("provost.toml", TOOL);
    for playbook in ["count", "note", "ask"] {
        std::fs::remove_file(place.path(&format!("playbooks/{playbook}.yaml"))).unwrap();
    }
    std::fs::create_dir_all(place.path("jobs")).unwrap();
    place.write("move.yaml", plan(steps));
    place
}

/// One picture while steps run and one waits, the yes, and all that is left in the end.
fn watched(steps: usize, window: (u16, u16)) -> (String, String) {
    let place = place(steps);
    let mut terminal = Terminal::new(&place, window, "apply move.yaml");
    let slow = if steps > 10 { 4 } else { 1 };
    let quick = (steps - 3) / 2;
    let seen = terminal.wait(|shown, column| {
        column == 0
            && is_whole(shown, steps)
            && shown.matches(" running ").count() == slow
            && shown.contains("waits for approval")
            && settles(shown, quick)
    });
    place.write("jobs/go", "");
    terminal.until(|shown| shown.contains("approve? y = yes"));
    terminal.types("y\n");
    let all = terminal.all();
    (settled(&seen), settled(&all))
}

/// Whether every step has a row of its own or is summed up: a region is drawn from its first line
/// to its last, and may be looked at between any two.
fn is_whole(shown: &str, steps: usize) -> bool {
    let row = Regex::new(r"(?m)^  (quick_|slow_|ship|later_)").unwrap();
    let more = Regex::new(r"(?m)^  and ([0-9]+) more: ").unwrap();
    let summed = more.captures(shown).map_or(0, |n| n[1].parse().unwrap());
    row.find_iter(shown).count() + summed == steps
}

/// Whether all the quick steps are seen or summed up as done.
fn settles(shown: &str, quick: usize) -> bool {
    let rows = shown.lines().filter(|line| line.contains("quick_"));
    let rows = rows.filter(|line| line.contains("succeeded")).count();
    let more = Regex::new(r"([0-9]+) succeeded").unwrap();
    let summed = more
        .captures(shown)
        .map_or(0, |n| n[1].parse().unwrap_or(0));
    rows + summed == quick
}

#[test]
fn what_runs_and_what_waits_is_seen_in_any_window() {
    for window in [(60, 20), (100, 20), (200, 50)] {
        for steps in [5, 30, 300] {
            let (seen, all) = watched(steps, window);
            let (columns, lines) = window;
            let name = format!("live-{columns}x{lines}-{steps}-steps");
            assert_snapshot!(name, seen);
            // The control: a picture whose last line is not drawn yet is not taken.
            let (undrawn, _) = seen.rsplit_once('\n').unwrap();
            assert!(!is_whole(undrawn, steps), "{undrawn}");
            assert_eq!(left_behind(&all), 0, "{all}");
            let ids = plan(steps).matches("id: ").count();
            // Once in the plan and once in the record, the step that is asked about on its card.
            for step in ["quick_1 ", "slow_1 ", "later_1 "] {
                let times = all.lines().filter(|line| line.contains(step)).count();
                assert!((1..=2).contains(&times), "{step}: {times} times\n{all}");
            }
            let most = ids + 30 + 60;
            assert!(
                all.lines().count() <= most,
                "{} lines\n{all}",
                all.lines().count()
            );
        }
    }
}

#[test]
fn one_clean_record_is_left() {
    let (_, all) = watched(30, (100, 20));
    assert_snapshot!("live-record-30-steps", all);
}

/// The control: a region that is higher than the window cannot be taken back, and leaves a copy
/// of itself above with each drawing.
#[test]
fn a_region_that_is_too_high_is_found() {
    let mut parser = vt100::Parser::new(20, 60, SCROLLBACK);
    let region: String = (0..30)
        .map(|n| format!("  slow-{n}  running  1 s\r\n"))
        .collect();
    for _ in 0..5 {
        parser.process(format!("{region}\x1b[30A\x1b[0J").as_bytes());
    }
    assert!(left_behind(&scrolled(&mut parser)) > 0);
}

/// What the prompt showed is not printed again when it is left for later.
#[test]
fn a_card_is_shown_once() {
    let place = place(5);
    let mut terminal = Terminal::new(&place, (100, 50), "apply move.yaml || [ $? = 3 ]");
    place.write("jobs/go", "");
    terminal.until(|shown| shown.contains("approve? y"));
    terminal.types("\n");
    let all = terminal.all();
    assert_eq!(all.matches("approve step `ship`?").count(), 1, "{all}");
    assert_eq!(all.matches("approve: provost approve").count(), 1, "{all}");
    // The control: without a prompt the card is printed with its commands.
    let shown = place.run(&["inbox"]).exits(0);
    assert!(shown.stdout.contains("approve step `ship`?"), "{shown}");
}
