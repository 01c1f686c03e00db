//! A wall clock that a test moves, for real processes of the binary: hours pass at once.

use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

const SOURCE: &str = include_str!("clock.c");

/// A clock, as far ahead of this machine's as it was moved.
pub struct MovedClock {
    dir: tempfile::TempDir,
    file: std::fs::File,
    seconds: AtomicI64,
}

impl MovedClock {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("clock.c");
        std::fs::write(&source, SOURCE).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(dir.path().join("clock.so"))
            .arg(source)
            .output()
            .unwrap();
        assert!(built.status.success(), "{built:?}");
        let file = std::fs::File::create(dir.path().join("ahead")).unwrap();
        let clock = Self {
            dir,
            file,
            seconds: AtomicI64::new(0),
        };
        clock.pass(Duration::ZERO);
        clock
    }

    /// Has time pass for whoever has this clock.
    pub fn pass(&self, by: Duration) {
        let by = i64::try_from(by.as_secs()).unwrap();
        let now = self.seconds.fetch_add(by, Ordering::SeqCst) + by;
        self.file.write_all_at(&now.to_ne_bytes(), 0).unwrap();
    }

    /// Gives a process this clock.
    pub fn give(&self, command: &mut Command) {
        let path = |name: &str| -> PathBuf { self.dir.path().join(name) };
        command
            .env("LD_PRELOAD", path("clock.so"))
            .env("WALL_CLOCK_AHEAD", path("ahead"));
    }
}
