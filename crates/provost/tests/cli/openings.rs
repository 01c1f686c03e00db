//! How often one command opens the files of its workspace, as the kernel counts it.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::workplace::Workplace;

/// Counts openings of files in a workplace from here on.
struct OpenCounter(OwnedFd);

impl OpenCounter {
    fn of(place: &Workplace) -> Self {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        for dir in [".", "policies", "playbooks", "schemas", ".provost"] {
            // Why closings too: equal events that follow one another count as one.
            let flags = WatchFlags::OPEN | WatchFlags::CLOSE;
            inotify::add_watch(&inotify, place.path(dir), flags).unwrap();
        }
        Self(inotify)
    }

    /// How often each file was opened.
    fn counts(self) -> BTreeMap<String, usize> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(self.0, &mut buffer);
        let mut counts = BTreeMap::new();
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return counts,
                Err(error) => panic!("{error}"),
            };
            let is_open = event.events().contains(ReadFlags::OPEN);
            if let Some(name) = event.file_name()
                && is_open
                && !event.events().contains(ReadFlags::ISDIR)
            {
                let name = name.to_str().unwrap().to_owned();
                *counts.entry(name).or_default() += 1;
            }
        }
    }
}

const FILES: [&str; 8] = [
    "provost.toml",
    "default.cedar",
    "entities.json",
    "customer.json",
    "orders.json",
    "note.yaml",
    "count.yaml",
    "ask.yaml",
];

/// What a command opens: each file of the workspace once, the journal once to read and once to
/// write.
#[track_caller]
fn opens_once(place: &Workplace, args: &[&str], code: i32) {
    let counter = OpenCounter::of(place);
    place.run(args).exits(code);
    let counts = counter.counts();
    for file in FILES {
        assert_eq!(counts.get(file), Some(&1), "{file} by {args:?}: {counts:?}");
    }
    assert_eq!(counts.get("journal.db"), Some(&2), "{args:?}: {counts:?}");
}

#[test]
fn who_speaks_to_a_run_opens_each_file_once() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    opens_once(&place, &["resume", &run], 3);
    place.run(&["pause", &run, "--reason", "a look"]).exits(0);
    opens_once(&place, &["resume", &run], 3);
    opens_once(&place, &["approve", &format!("{run}@{card}")], 0);
    std::fs::remove_file(place.path("notes/orders.txt")).unwrap();
    let (run, card) = place.waiting();
    let target = format!("{run}@{card}");
    opens_once(&place, &["approve", &target, "--record"], 0);
    opens_once(&place, &["resume", &run], 0);
    let (run, card) = place.waiting();
    opens_once(&place, &["reject", &format!("{run}@{card}")], 0);
    place.run(&["run", "Ask whose orders count"]).exits(3);
    let (run, _) = place.card();
    opens_once(&place, &["answer", &run, "ada"], 0);
}

#[test]
fn the_count_sees_what_is_read_twice() {
    let place = Workplace::new();
    place.waiting();
    let counter = OpenCounter::of(&place);
    for _ in 0..2 {
        place.run(&["check", "playbooks/note.yaml"]).exits(0);
    }
    let counts = counter.counts();
    assert_eq!(counts.get("provost.toml"), Some(&2), "{counts:?}");
    assert_eq!(counts.get("journal.db"), None, "{counts:?}");
}

#[test]
fn who_only_looks_for_a_run_creates_no_journal() {
    let place = Workplace::new();
    for verb in ["approve", "resume", "reject"] {
        place.run(&[verb, "nosuchrun@0123456789abcdef"]).exits(2);
    }
    assert!(!place.path(".provost").exists());
}
