//! Who is at work: the user of this process, by the kernel's number and the user database.
//!
//! Owns the one answer to it. Never looks at a variable: whoever types the command sets `USER`,
//! `LOGNAME`, `HOME` and `PATH` to anything. INVARIANT: one user number has one name, whatever the
//! environment says; a number that no database knows is itself the name.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Where `id` stands; it is never looked for along `PATH`, which names whatever the caller likes.
const ID_PROGRAMS: [&str; 3] = ["/usr/bin/id", "/bin/id", "/run/current-system/sw/bin/id"];
/// How long a directory of users on another machine may take to answer.
const ID_TIMEOUT: Duration = Duration::from_secs(5);
/// Most bytes of a name.
const NAME_BYTES_MAX: u64 = 256;
/// What the name of a number without a name begins with.
const NUMBER_PREFIX: &str = "uid-";

/// A user database: the name of the user of this process, if it knows one.
type UserDatabase<'a> = &'a dyn Fn() -> Option<String>;

/// The user of this process, as policies and journals name them.
pub fn user() -> String {
    let system = || whoami::username().ok();
    // Why `id` too: a binary that is linked statically sees `/etc/passwd` and no directory.
    name_of(rustix::process::geteuid().as_raw(), &[&system, &by_id])
}

/// The first usable name that the databases know, or the number.
fn name_of(uid: u32, databases: &[UserDatabase<'_>]) -> String {
    let names = databases.iter().filter_map(|database| database());
    let mut usable = names.filter(|name| is_name(name, uid));
    usable
        .next()
        .unwrap_or_else(|| format!("{NUMBER_PREFIX}{uid}"))
}

/// Whether a text can be a name: some programs print the number where they know no name, and no
/// name may pass for the number of somebody else.
fn is_name(name: &str, uid: u32) -> bool {
    let is_plain = !name.trim().is_empty() && !name.chars().any(char::is_control);
    is_plain && name != uid.to_string() && !name.starts_with(NUMBER_PREFIX)
}

fn by_id() -> Option<String> {
    ID_PROGRAMS.iter().find_map(|program| printed(program))
}

/// The one line that `PROGRAM -un` prints, if it ends well and in time.
fn printed(program: &str) -> Option<String> {
    let mut child = Command::new(program)
        .arg("-un")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdout = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = stdout.take(NAME_BYTES_MAX).read_to_string(&mut line);
        // Why ignored: nobody waits any longer for what comes too late.
        let _ = sender.send(read.ok().map(|_| line));
    });
    let line = receiver.recv_timeout(ID_TIMEOUT).ok().flatten();
    if line.is_none() {
        // Why ignored: one that has ended needs no ending.
        let _ = child.kill();
    }
    let status = child.wait().ok()?;
    let name = line?.strip_suffix('\n')?.to_owned();
    status.success().then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_from_a_database_or_is_the_number() {
        let cases: [(&[Option<&str>], &str); 8] = [
            (&[Some("ada"), Some("bo")], "ada"),
            (&[None, Some("bo")], "bo"),
            (&[None, None], "uid-4711"),
            (&[], "uid-4711"),
            // `id` of some systems prints the number of who has no name.
            (&[None, Some("4711")], "uid-4711"),
            (&[Some(""), Some(" ")], "uid-4711"),
            (&[Some("ada\nbo"), None], "uid-4711"),
            // Nobody is named like the number of somebody else.
            (&[Some("uid-1"), None], "uid-4711"),
        ];
        for (known, expected) in cases {
            let answers: Vec<_> = known
                .iter()
                .map(|name| move || name.map(str::to_owned))
                .collect();
            let databases: Vec<UserDatabase<'_>> = answers
                .iter()
                .map(|answer| answer as UserDatabase<'_>)
                .collect();
            assert_eq!(name_of(4711, &databases), expected, "{known:?}");
        }
    }

    #[test]
    fn the_program_that_names_users_is_heard_only_if_it_ends_well() {
        assert_eq!(printed("/no/such/program"), None);
        // It ends with an error, and prints nothing.
        assert_eq!(printed("/bin/false"), None);
        // The control: what a program prints is heard.
        assert_eq!(printed("/bin/echo").as_deref(), Some("-un"));
    }
}
