//! All that a program starts, ended together, whatever became of its parents.
//!
//! Owns a control group (cgroup v2) where the system lets this process make one; elsewhere the mark
//! in the environment and the tree of parents by which processes are found. Starts nothing.
//! INVARIANT: only what was put into the group, bears the mark or descends from the leader while
//! that lives is ended. If this process is killed, the [`watchdog`] ends it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::watchdog;
use crate::limits::{GROUP_REMOVAL_WAIT, GROUP_REMOVALS_MAX, TREE_ROUNDS_MAX};

/// The variable that marks the processes of a tree where there is no control group.
const MARK: &str = "PROVOST_CALL";

/// The processes of a program; dropped, they are ended.
///
/// The number of a leader stays its own while one of its process group is left. With none left it
/// may be given out again, but only after all other numbers were: long after this is dropped.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    group: Option<ControlGroup>,
    mark: String,
    leader: Option<Pid>,
    /// Whether the leader ended, so that its number may be somebody else's.
    is_over: AtomicBool,
}

impl ProcessTree {
    /// A tree without any process.
    pub(crate) fn new() -> Self {
        Self::within(ControlGroup::new())
    }

    fn within(group: Option<ControlGroup>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            group,
            mark: format!("{}-{number}", std::process::id()),
            leader: None,
            is_over: AtomicBool::new(false),
        }
    }

    /// The variable that its leader has to be given, if it is found by that.
    pub(crate) fn variable(&self) -> Option<(&'static str, &str)> {
        let by_mark = self.group.is_none();
        by_mark.then_some((MARK, self.mark.as_str()))
    }

    /// What begins a line by which a leader that did not become its program says so.
    pub(crate) fn name(&self) -> String {
        format!("provost-{}", self.mark)
    }

    /// Takes in the leader, which has started nothing yet.
    pub(crate) fn set_leader(&mut self, leader: Option<Pid>) {
        self.leader = leader;
        let Some(leader) = leader else { return };
        if self
            .group
            .as_ref()
            .is_some_and(|group| group.add(leader).is_err())
        {
            // Why not refused: what is left is the process group, as on systems without any.
            self.group = None;
        }
        if let Some(held) = self.held() {
            watchdog::hold(&held);
        }
    }

    /// What ends all of it at once, or as much as one signal reaches, by its name.
    fn held(&self) -> Option<String> {
        match &self.group {
            Some(group) => group.dir.to_str().map(str::to_owned),
            None => Some(self.leader?.as_raw_pid().to_string()),
        }
    }

    fn release(&self) {
        if let Some(held) = self.held() {
            watchdog::release(&held);
        }
    }

    /// Its leader ended and was waited for: its number leads nowhere any more.
    pub(crate) fn forget_leader(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        if self.group.is_none() {
            self.release();
        }
    }

    /// Ends all of it. Why errors are ignored: who is gone needs no ending.
    pub(crate) fn end(&self) {
        if let Some(group) = &self.group {
            group.end();
        } else {
            self.end_members();
        }
        if let Some(leader) = self.leader() {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// The leader, while its number is its own.
    fn leader(&self) -> Option<Pid> {
        self.leader
            .filter(|_| !self.is_over.load(Ordering::Relaxed))
    }

    /// Ends those that are found until no other is: one may start another while it is looked for.
    fn end_members(&self) {
        let mut ended = BTreeSet::new();
        for _ in 0..TREE_ROUNDS_MAX {
            let members = self.members();
            let before = ended.len();
            for pid in members {
                if ended.insert(pid)
                    && let Some(pid) = Pid::from_raw(pid)
                {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            if ended.len() == before {
                return;
            }
        }
    }

    /// The living processes that bear the mark or descend from the leader.
    fn members(&self) -> BTreeSet<i32> {
        let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        let mut found = BTreeSet::new();
        let mark = format!("{MARK}={}", self.mark).into_bytes();
        for (pid, parent) in living() {
            children.entry(parent).or_default().push(pid);
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            if environ.split(|byte| *byte == 0).any(|one| one == mark) {
                found.insert(pid);
            }
        }
        let mut open: Vec<i32> = self.leader().map(Pid::as_raw_pid).into_iter().collect();
        open.extend(found.iter().copied());
        while let Some(pid) = open.pop() {
            for child in children.remove(&pid).unwrap_or_default() {
                found.insert(child);
                open.push(child);
            }
        }
        found
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.end();
        self.release();
    }
}

/// The processes that live, each with its parent; none where the system does not list them.
fn living() -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let with_parent = pids.filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // Why the last: a name may hold a bracket and blanks.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let is_dead = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        (!is_dead).then_some((pid, parent))
    });
    with_parent.collect()
}

/// A control group of our own.
#[derive(Debug)]
struct ControlGroup {
    dir: PathBuf,
}

impl ControlGroup {
    /// A new one below that of this process, if there may be one that can be ended as a whole.
    fn new() -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("provost-{}-{number}", std::process::id());
        let dir = current_dir()?.join(name);
        fs::create_dir(&dir).ok()?;
        let group = Self { dir };
        let can_end = group.dir.join("cgroup.kill").exists();
        can_end.then_some(group)
    }

    fn add(&self, leader: Pid) -> io::Result<()> {
        fs::write(
            self.dir.join("cgroup.procs"),
            leader.as_raw_pid().to_string(),
        )
    }

    fn end(&self) {
        let _ = fs::write(self.dir.join("cgroup.kill"), "1");
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let dir = std::mem::take(&mut self.dir);
        if fs::remove_dir(&dir).is_ok() {
            return;
        }
        // Why a thread: what was killed is gone a moment later, and nobody need wait for that.
        let again = move || {
            for _ in 0..GROUP_REMOVALS_MAX {
                thread::sleep(GROUP_REMOVAL_WAIT);
                if fs::remove_dir(&dir).is_ok() {
                    return;
                }
            }
        };
        // Why ignored: an empty group that stays does no harm.
        let _ = thread::Builder::new().spawn(again);
    }
}

/// The control group that this process is in, as a folder.
fn current_dir() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut fields = place.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        kind.starts_with("cgroup2 ").then_some((root, point))
    });
    let (root, point) = mount?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let below = Path::new(own).strip_prefix(root).ok()?;
    Some(Path::new(point).join(below))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::Write as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::{ControlGroup, ProcessTree, living};

    /// Writes its number to the file, then sleeps: in a session of its own, and with a parent that
    /// ended before, so that neither the process group nor the tree leads there.
    const FLEES: &str = "read -r go; (setsid sh -c 'echo $$ >\"$1.new\"; mv \"$1.new\" \"$1\"; exec sleep 600' \
                         sh \"$1\" </dev/null >/dev/null 2>&1 &); exec sleep 600";

    fn until(what: impl Fn() -> bool) -> bool {
        let begun = Instant::now();
        while !what() {
            if begun.elapsed() > Duration::from_secs(10) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    fn lives(pid: i32) -> bool {
        living().iter().any(|(one, _)| *one == pid)
    }

    fn ends_with(mut tree: ProcessTree, dir: &std::path::Path) {
        let file = dir.join(tree.name());
        let mut command = Command::new("sh");
        command
            .args(["-c", FLEES, "sh"])
            .arg(&file)
            .process_group(0);
        command.stdin(Stdio::piped()).envs(tree.variable());
        let mut leader = command.spawn().unwrap();
        tree.set_leader(rustix::process::Pid::from_raw(leader.id().cast_signed()));
        leader.stdin.take().unwrap().write_all(b"go\n").unwrap();
        assert!(until(|| file.exists()));
        let fled: i32 = std::fs::read_to_string(&file)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        assert!(lives(fled), "the control: it lives until the tree ends");
        drop(tree);
        assert!(until(|| !lives(fled)), "it outlives its tree");
        leader.wait().unwrap();
    }

    #[test]
    fn what_fled_into_a_session_of_its_own_ends_with_its_tree() {
        let dir = tempfile::tempdir().unwrap();
        ends_with(ProcessTree::within(None), dir.path());
        // Why if: not every system lets tests make control groups.
        if let Some(group) = ControlGroup::new() {
            let own = group.dir.clone();
            ends_with(ProcessTree::within(Some(group)), dir.path());
            assert!(until(|| !own.exists()), "the group is taken away");
        }
    }
}
