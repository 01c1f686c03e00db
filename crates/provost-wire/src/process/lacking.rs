//! What a command needs that is not there, before anybody starts it.
//!
//! Owns which programs run what a file says. Starts nothing and reads no file. INVARIANT: what is
//! said to be missing is missing; a file whose name no ending gives away is not looked for.

use std::path::Path;

use super::program::locate;
use crate::EnvValue;

/// Programs whose first file is what they run, without the version in their names.
const INTERPRETERS: [&str; 24] = [
    "ash", "awk", "bash", "bun", "dash", "deno", "env", "fish", "gawk", "java", "ksh", "lua",
    "mawk", "node", "nodejs", "perl", "php", "pwsh", "pypy", "python", "Rscript", "ruby", "sh",
    "zsh",
];
/// Options behind which no file is run: what is run stands in the line, or is looked up elsewhere.
pub const RUNS_NO_FILE: [&str; 4] = ["-c", "-e", "-m", "--eval"];
/// Endings of files that interpreters run.
const SCRIPT_ENDINGS: [&str; 10] = [
    "py", "js", "mjs", "cjs", "ts", "sh", "rb", "pl", "php", "lua",
];

/// Whether a program runs what a file says: `python3.12` as well as `python`.
#[must_use]
pub fn is_interpreter(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&bare)
}

/// What a command lacks, in words, given its constant arguments: its program, or the script that
/// its program would run.
#[must_use]
pub fn lacking(argv: &[Option<&str>], dir: &Path, path: &str) -> Option<String> {
    let program = argv.first().copied().flatten()?;
    if let Err(error) = locate(program, dir, path) {
        return Some(match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                format!("the program `{program}` may not be executed")
            }
            _ => format!("there is no program `{program}`"),
        });
    }
    if !is_interpreter(program) {
        return None;
    }
    let words = argv.iter().skip(1).flatten();
    let mut words = words.take_while(|word| !RUNS_NO_FILE.contains(word));
    let first = words.find(|word| !word.starts_with('-'))?;
    let ending = Path::new(first).extension()?.to_str()?;
    let is_missing = SCRIPT_ENDINGS.contains(&ending) && !dir.join(first).exists();
    is_missing.then(|| format!("there is no file `{first}` for `{program}` to run"))
}

/// [`lacking`] for a command that is written out whole, with variables of its own: its `PATH` is
/// the one among these, or that of this process.
#[must_use]
pub fn command_lacks(argv: &[String], env: &[(String, EnvValue)], dir: &Path) -> Option<String> {
    let own = env.iter().find_map(|(name, value)| match value {
        EnvValue::Plain(text) if name == "PATH" => Some(text.clone()),
        _ => None,
    });
    let path = own.or_else(|| std::env::var("PATH").ok());
    let argv: Vec<Option<&str>> = argv.iter().map(|word| Some(word.as_str())).collect();
    lacking(&argv, dir, &path.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_lacks_its_program_or_its_script() {
        let dir = std::env::temp_dir();
        let lacks = |argv: &[&str]| {
            let argv: Vec<Option<&str>> = argv.iter().copied().map(Some).collect();
            lacking(&argv, &dir, "/usr/bin:/bin")
        };
        for (argv, missing) in [
            (&["shh", "-c", "ls"] as &[&str], Some("program `shh`")),
            (&["./no-such-program"], Some("program `./no-such-program`")),
            (&["sh", "-e", "no-such-file.sh"], None),
            (&["sh", "no-such-file.sh"], Some("file `no-such-file.sh`")),
            (
                &["sh", "-x", "no-such-file.sh"],
                Some("file `no-such-file.sh`"),
            ),
            // The controls: none of these is a script that is missing.
            (&["sh", "-c", "no-such-file.sh"], None),
            (&["sh", "word"], None),
            (&["cat", "no-such-file.sh"], None),
        ] {
            let found = lacks(argv);
            let found = found.as_deref();
            match missing {
                Some(words) => assert!(found.is_some_and(|f| f.contains(words)), "{argv:?}"),
                None => assert_eq!(found, None, "{argv:?}"),
            }
        }
        assert_eq!(lacking(&[None, Some("a")], &dir, "/bin"), None);
    }
}
