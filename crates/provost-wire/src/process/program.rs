//! Programs: one command carried out for what it prints, within bounds of time, output and memory.
//!
//! Owns starting it, holding it to its bounds, and ending it with all that it started. Passes on no
//! variable of this process. A shell stands at the gate: it waits until the bounds are set, then
//! becomes the program; the arguments are never its language. INVARIANT: no program begins without
//! its bounds, and nothing that it starts outlives the call (`ProcessTree` ends it).

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use super::sandbox::{Sandbox, SandboxLevel};
use super::tree::ProcessTree;
use crate::limits::{CHILD_STDERR_BYTES_MAX, CHILD_STDERR_WAIT};

/// The shell that waits for its limits to be set, then becomes the program.
const SHELL: &str = "/bin/sh";
/// Variables that some shells set by themselves.
const OF_SHELL: [&str; 3] = ["PWD", "OLDPWD", "SHLVL"];
/// The line that lets the shell become the program.
const GO: &[u8] = b"go\n";
/// The codes of a shell that could not become the program: it may not, or it is not there.
const NOT_BECOME: [(i32, Errno); 2] = [(126, Errno::ACCESS), (127, Errno::NOENT)];

/// What a shell says of arguments that the system does not take.
const TOO_LONG: &str = "Argument list too long";

/// A program that is run to its end for what it prints.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The program and its arguments; no shell reads them.
    pub argv: &'a [String],
    /// What it reads from its standard input; nothing if it is none.
    pub stdin: Option<&'a [u8]>,
    /// The folder that it runs in.
    pub dir: &'a Path,
    /// All its variables; a program without a `/` in its name is looked for along its `PATH`.
    pub env: &'a [(String, String)],
    /// How long it may take before it is killed.
    pub timeout: Duration,
    /// Most bytes that it may write to stdout.
    pub output_bytes_max: u64,
    /// How much memory each of its processes may ask for.
    pub memory_bytes_max: Option<u64>,
    /// Which files it may reach; without one all that its user may.
    pub sandbox: Option<&'a Sandbox>,
}

/// A program that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramOutput {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The exit code or the signal, in words for people.
    pub status: String,
    /// All that it wrote to stdout.
    pub stdout: Vec<u8>,
    /// The beginning of what it wrote to stderr.
    pub stderr: Vec<u8>,
    /// The end of what it wrote to stderr, if it wrote more than its beginning.
    pub stderr_tail: Vec<u8>,
    /// Whether something is left out between the two.
    pub stderr_is_cut: bool,
    /// How much of its sandbox the kernel enforced, if it had one.
    pub sandbox_level: Option<SandboxLevel>,
}

/// A program that did not end by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// The program did not start.
    #[error("`{program}` cannot be started: {reason}")]
    NotStarted {
        /// The name of the program, as the command has it.
        program: String,
        /// Why the system did not start it, in words for people.
        reason: String,
    },
    /// Its arguments are longer than the system takes: it did not start.
    #[error(
        "the arguments of `{program}` are longer than the system takes (131,071 bytes each): give \
         long texts to its standard input"
    )]
    TooLong {
        /// The name of the program, as the command has it.
        program: String,
    },
    /// The time was over; it was ended.
    #[error("it did not end within the time")]
    TimedOut,
    /// It printed more than it may; it was ended.
    #[error("it printed more than {max} bytes and was ended")]
    TooLarge {
        /// The `output_bytes_max` of the program.
        max: u64,
    },
    /// It cannot be told how it ended.
    #[error("it is lost: {reason}")]
    Lost {
        /// What the system said instead, in words for people.
        reason: String,
    },
}

/// Where the program is that a command names: below `dir` if there is a `/` in its name, else in
/// one of the folders of `path`.
///
/// # Errors
/// Why there is none, as the system says it.
pub fn locate(program: &str, dir: &Path, path: &str) -> io::Result<PathBuf> {
    let is_program = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    let candidates: Vec<PathBuf> = match program.contains('/') {
        true => vec![dir.join(program)],
        false => std::env::split_paths(path)
            .map(|folder| dir.join(folder).join(program))
            .collect(),
    };
    if let Some(found) = candidates.iter().find(|path| is_program(path)) {
        return Ok(found.clone());
    }
    let is_there = !program.is_empty() && candidates.iter().any(|path| path.exists());
    let error = if is_there {
        Errno::ACCESS
    } else {
        Errno::NOENT
    };
    Err(error.into())
}

impl Program<'_> {
    /// Runs it to its end.
    ///
    /// # Errors
    /// [`ProgramError`] unless it ends by itself, within its bounds.
    pub async fn run(self) -> Result<ProgramOutput, ProgramError> {
        let mut tree = ProcessTree::new();
        let (mut child, sandbox_level) = self.start(&tree)?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = id.and_then(Pid::from_raw);
        tree.set_leader(leader);
        self.set_limits(leader)?;
        let gate = child.stdin.take();
        // Why at once: a program that prints while it reads would wait for ever.
        let ended = async { tokio::join!(self.feed(gate), self.collect(&mut child, &tree)).1 };
        match tokio::time::timeout(self.timeout, ended).await {
            Ok(Ok(ended)) => self.check_started(
                ProgramOutput {
                    sandbox_level,
                    ..ended
                },
                &tree,
            ),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ProgramError::TimedOut),
        }
    }

    fn name(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    fn not_started(&self, reason: &dyn ToString) -> ProgramError {
        let (program, reason) = (self.name().to_owned(), reason.to_string());
        if reason == io::Error::from(Errno::TOOBIG).to_string() {
            return ProgramError::TooLong { program };
        }
        ProgramError::NotStarted { program, reason }
    }

    /// Opens the gate, and writes what the program reads. What cannot be written is ignored: with a
    /// closed gate the program does not begin, which is heard, and no program has to read it all.
    async fn feed(&self, gate: Option<ChildStdin>) {
        let Some(mut gate) = gate else { return };
        if gate.write_all(GO).await.is_ok()
            && let Some(text) = self.stdin
        {
            let _ = gate.write_all(text).await;
        }
    }

    /// Waits for [`GO`], and becomes the program; at the end of its input without that, nothing.
    fn gate(&self) -> String {
        let is_given = |name: &str| self.env.iter().any(|(given, _)| given == name);
        let own = OF_SHELL.into_iter().filter(|name| !is_given(name));
        let unset: String = own.map(|name| format!(" {name}")).collect();
        // Why nothing is lost: a shell reads a line of a pipe byte by byte.
        let input = match self.stdin {
            Some(_) => "",
            None => " </dev/null",
        };
        format!(r#"read -r go && [ "$go" = go ] && unset go{unset} && exec "$@"{input}"#)
    }

    fn start(&self, tree: &ProcessTree) -> Result<(Child, Option<SandboxLevel>), ProgramError> {
        let path = self.env.iter().find(|(name, _)| name == "PATH");
        let path = path.map_or("", |(_, path)| path.as_str());
        let program = locate(self.name(), self.dir, path).map_err(|e| self.not_started(&e))?;
        let mut command = Command::new(SHELL);
        command
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .envs(tree.variable())
            .args(["-c", &self.gate(), &tree.name()])
            .arg(program)
            .args(self.argv.iter().skip(1))
            .current_dir(self.dir)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let started = Sandbox::start(self.sandbox, &mut command);
        started.map_err(|reason| self.not_started(&reason))
    }

    /// Sets the bounds that the system holds, before the program begins; it leaves no core.
    #[cfg(target_os = "linux")]
    fn set_limits(&self, leader: Option<Pid>) -> Result<(), ProgramError> {
        use rustix::process::{Resource, Rlimit, prlimit};
        let set = |resource, most| {
            let limit = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            let set = prlimit(leader, resource, limit);
            let refused = |error| self.not_started(&format!("its bounds cannot be set: {error}"));
            set.map(|_| ()).map_err(refused)
        };
        set(Resource::Core, 0)?;
        self.memory_bytes_max
            .map_or(Ok(()), |most| set(Resource::As, most))
    }

    /// Refuses a bound that nothing here would hold; without one there is nothing to set.
    #[cfg(not(target_os = "linux"))]
    fn set_limits(&self, _: Option<Pid>) -> Result<(), ProgramError> {
        match self.memory_bytes_max {
            None => Ok(()),
            Some(_) => Err(self.not_started(&"this system sets no bound of memory for it")),
        }
    }

    /// The output, unless it is that of the shell, which could not become the program.
    fn check_started(
        &self,
        ended: ProgramOutput,
        tree: &ProcessTree,
    ) -> Result<ProgramOutput, ProgramError> {
        let code = NOT_BECOME
            .iter()
            .find(|(code, _)| Some(*code) == ended.code);
        let by_shell = ended
            .stderr
            .starts_with(format!("{}:", tree.name()).as_bytes());
        match code {
            Some(_) if by_shell && String::from_utf8_lossy(&ended.stderr).contains(TOO_LONG) => {
                Err(self.not_started(&io::Error::from(Errno::TOOBIG)))
            }
            Some((_, error)) if by_shell => Err(self.not_started(&io::Error::from(*error))),
            _ => Ok(ended),
        }
    }

    async fn collect(
        &self,
        child: &mut Child,
        tree: &ProcessTree,
    ) -> Result<ProgramOutput, ProgramError> {
        let lost = |reason: io::Error| ProgramError::Lost {
            reason: reason.to_string(),
        };
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let most = usize::try_from(self.output_bytes_max).unwrap_or(usize::MAX);
        let (mut printed, mut said) = (Vec::new(), Ends::default());
        let mut is_more = false;
        let status = {
            let reading = async {
                let print = read(stdout, &mut printed, most);
                let say = said.read(stderr);
                tokio::pin!(print, say);
                tokio::select! {
                    more = &mut print => {
                        is_more = more;
                        // Why: who printed too much is not listened to any longer.
                        if !more {
                            say.await;
                        }
                    }
                    () = &mut say => is_more = print.await,
                }
            };
            tokio::pin!(reading);
            let mut at_end = false;
            let status = tokio::select! {
                status = child.wait() => Some(status.map_err(lost)?),
                () = &mut reading => { at_end = true; None }
            };
            // Why: what it left behind ends with it, and with that its output.
            if status.is_some() {
                tree.end();
                tree.forget_leader();
            }
            if !at_end {
                let _ = tokio::time::timeout(CHILD_STDERR_WAIT, reading).await;
            }
            status
        };
        if is_more {
            let max = self.output_bytes_max;
            return Err(ProgramError::TooLarge { max });
        }
        let status = match status {
            Some(status) => status,
            None => child.wait().await.map_err(lost)?,
        };
        Ok(ProgramOutput {
            code: status.code(),
            status: status.to_string(),
            stdout: printed,
            stderr: said.head,
            stderr_is_cut: said.is_cut || !said.is_whole,
            stderr_tail: said.tail.into(),
            sandbox_level: None,
        })
    }
}

/// Reads until there is more than may be kept. Whether there was more.
async fn read(from: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>, most: usize) -> bool {
    let Some(mut from) = from else { return false };
    let mut part = [0; 8192];
    while let Ok(count @ 1..) = from.read(&mut part).await {
        let room = most.saturating_sub(kept.len());
        kept.extend(part.iter().take(count.min(room)));
        if count > room {
            return true;
        }
    }
    false
}

/// The beginning and the end of what a program says.
#[derive(Default)]
struct Ends {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    is_cut: bool,
    is_whole: bool,
}

impl Ends {
    /// Reads to the end.
    async fn read(&mut self, from: Option<impl AsyncRead + Unpin>) {
        if let Some(mut from) = from {
            let mut part = [0; 8192];
            while let Ok(count @ 1..) = from.read(&mut part).await {
                let room = CHILD_STDERR_BYTES_MAX.saturating_sub(self.head.len());
                self.head.extend(part.iter().take(count.min(room)));
                self.tail.extend(part.iter().take(count).skip(room));
                let over = self.tail.len().saturating_sub(CHILD_STDERR_BYTES_MAX);
                self.is_cut |= over > 0;
                self.tail.drain(..over);
            }
        }
        self.is_whole = true;
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::string_slice, clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Instant;

    use super::*;

    const MEMORY: u64 = 256 * 1024 * 1024;

    async fn run(
        dir: &Path,
        argv: &[&str],
        timeout: Duration,
    ) -> Result<ProgramOutput, ProgramError> {
        run_with(dir, argv, timeout, None).await
    }

    async fn run_with(
        dir: &Path,
        argv: &[&str],
        timeout: Duration,
        stdin: Option<&[u8]>,
    ) -> Result<ProgramOutput, ProgramError> {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let path = "/usr/local/bin:/usr/bin:/bin".to_owned();
        let program = Program {
            argv: &argv,
            stdin,
            dir,
            env: &[("PATH".to_owned(), path)],
            timeout,
            output_bytes_max: 1_000_000,
            memory_bytes_max: Some(MEMORY),
            sandbox: None,
        };
        program.run().await
    }

    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_program_has_its_bounds_from_its_first_instruction() {
        let dir = tempfile::tempdir().unwrap();
        let asks = ["sh", "-c", "ulimit -v; ulimit -c"];
        // Why so often: what is set beside a program that runs comes too late now and then.
        for _ in 0..60 {
            let ended = run(dir.path(), &asks, LONG).await.unwrap();
            let told = String::from_utf8(ended.stdout).unwrap();
            assert_eq!(told, format!("{}\n0\n", MEMORY / 1024));
        }
    }

    #[tokio::test]
    async fn arguments_arrive_as_they_are_and_the_input_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        let argv = [
            "printf", "%s|", "a b", "$HOME", "`id`", "", "-n", "*", "\\n", "'",
        ];
        let ended = run(dir.path(), &argv, LONG).await.unwrap();
        assert_eq!(ended.stdout, b"a b|$HOME|`id`||-n|*|\\n|'|");
        let ended = run(dir.path(), &["cat"], LONG).await.unwrap();
        assert_eq!((ended.code, ended.stdout.as_slice()), (Some(0), &b""[..]));
    }

    #[tokio::test]
    async fn standard_input_arrives_whole_whether_or_not_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let text = "go\n$HOME `id` ä\n".repeat(20_000);
        let ended = run_with(dir.path(), &["cat"], LONG, Some(text.as_bytes())).await;
        assert_eq!(ended.unwrap().stdout, text.as_bytes());
        let ended = run_with(dir.path(), &["true"], LONG, Some(text.as_bytes())).await;
        assert_eq!(ended.unwrap().code, Some(0));
        let ended = run_with(dir.path(), &["wc", "-c"], LONG, Some(b"")).await;
        assert_eq!(ended.unwrap().stdout, b"0\n");
    }

    #[tokio::test]
    async fn arguments_that_the_system_does_not_take_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let long = "a".repeat(131_072);
        let ended = run(dir.path(), &["printf", &long], LONG).await;
        assert!(
            matches!(ended, Err(ProgramError::TooLong { .. })),
            "{ended:?}"
        );
        // Control: one byte less is taken.
        let ended = run(dir.path(), &["printf", &long[1..]], LONG)
            .await
            .unwrap();
        assert_eq!(ended.stdout.len(), 131_071);
    }

    #[tokio::test]
    async fn of_what_a_program_says_its_beginning_and_its_end_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let says = "echo first >&2; seq 1 20000 >&2; echo last >&2; exit 1";
        let ended = run(dir.path(), &["sh", "-c", says], LONG).await.unwrap();
        assert!(ended.stderr.starts_with(b"first\n1\n") && ended.stderr_is_cut);
        assert!(ended.stderr_tail.ends_with(b"20000\nlast\n"));
        assert_eq!(ended.stderr_tail.len(), CHILD_STDERR_BYTES_MAX);
        // Control: what is short is whole, and has no other end.
        let ended = run(dir.path(), &["sh", "-c", "echo one >&2"], LONG)
            .await
            .unwrap();
        assert_eq!(
            (ended.stderr, ended.stderr_is_cut),
            (b"one\n".to_vec(), false)
        );
        assert!(ended.stderr_tail.is_empty());
    }

    #[tokio::test]
    async fn what_cannot_begin_is_not_started_and_what_says_so_itself_was() {
        let dir = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str, mode: u32| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        script("locked", "#!/bin/sh\n", 0o644);
        script("broken", "#!/no/such/interpreter\n", 0o755);
        script(
            "says-so",
            "#!/bin/sh\necho provost-1-1: no >&2; exit 127\n",
            0o755,
        );
        for program in ["no-such-program", "./none", "./locked", "./broken", ".", ""] {
            let ended = run(dir.path(), &[program], LONG).await;
            let is_not_started = matches!(ended, Err(ProgramError::NotStarted { .. }));
            assert!(is_not_started, "{program}: {ended:?}");
        }
        let ended = run(dir.path(), &["./says-so"], LONG).await.unwrap();
        assert_eq!(ended.code, Some(127));
    }

    #[tokio::test]
    async fn what_fled_into_another_session_ends_with_the_time_of_its_call() {
        let dir = tempfile::tempdir().unwrap();
        let flees = "setsid sh -c 'echo $$ >fled.new; mv fled.new fled; exec sleep 600' & \
                     exec sleep 600";
        let ended = run(dir.path(), &["sh", "-c", flees], Duration::from_secs(2)).await;
        assert_eq!(ended, Err(ProgramError::TimedOut));
        let fled = std::fs::read_to_string(dir.path().join("fled")).unwrap();
        let stat = format!("/proc/{}/stat", fled.trim());
        let lives = || {
            let stat = std::fs::read_to_string(&stat).unwrap_or_default();
            stat.rsplit_once(") ")
                .is_some_and(|(_, rest)| !rest.starts_with('Z'))
        };
        let begun = Instant::now();
        while lives() {
            assert!(begun.elapsed() < Duration::from_secs(10), "it lives on");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
