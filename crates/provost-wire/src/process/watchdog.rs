//! A process beside this one that ends what this one started, if this one is killed.
//!
//! Owns the one watchdog of this process: a shell that reads from a pipe what there is to end, and
//! ends it once the pipe closes, as the system closes it for whoever is killed. Ends nothing while
//! this process lives. INVARIANT: what is no longer held is never ended by it.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Keeps what it is told in its arguments. A control group is a path, a process group a number.
/// Groups are taken away once their processes are gone, which takes the system a moment.
const SCRIPT: &str = r#"
set --
while read -r sign one; do
  case $sign in
    hold) set -- "$@" "$one" ;;
    release)
      left=$#
      while [ "$left" -gt 0 ]; do
        next=$1 left=$((left - 1))
        shift
        [ "$next" = "$one" ] || set -- "$@" "$next"
      done ;;
  esac
done
for one; do
  case $one in
    /*) echo 1 >"$one/cgroup.kill" ;;
    *) kill -KILL "-$one" ;;
  esac
done
for one; do
  case $one in
    /*) rmdir "$one" || { sleep 1; rmdir "$one"; } ;;
  esac
done
"#;

static WATCHDOG: Mutex<Watchdog> = Mutex::new(Watchdog {
    pipe: None,
    held: BTreeSet::new(),
});

#[derive(Debug)]
struct Watchdog {
    pipe: Option<ChildStdin>,
    held: BTreeSet<String>,
}

/// From now on this is ended if this process is killed: the folder of a control group, or the
/// number of a process group. Where no shell can be started it is not, and the call goes on.
pub(super) fn hold(what: &str) {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    watchdog.held.insert(what.to_owned());
    if watchdog.tell(&format!("hold {what}\n")).is_err() {
        // Why once more: somebody may have ended the one of before.
        let _ = watchdog.start();
    }
}

/// From now on it is not: it is over, and its name may be somebody else's.
pub(super) fn release(what: &str) {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if watchdog.held.remove(what) {
        let _ = watchdog.tell(&format!("release {what}\n"));
    }
}

impl Watchdog {
    fn tell(&mut self, line: &str) -> io::Result<()> {
        let pipe = self.pipe.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        pipe.write_all(line.as_bytes())
    }

    /// Starts one, and tells it all that is held.
    fn start(&mut self) -> io::Result<()> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "provost-watchdog"])
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .current_dir("/")
            // Why: what a terminal sends to those in front would end it before this process.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.pipe = command.spawn()?.stdin.take();
        let all: String = self
            .held
            .iter()
            .map(|one| format!("hold {one}\n"))
            .collect();
        self.tell(&all)
    }
}
