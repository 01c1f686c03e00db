//! What a line runs, held to what it was when the workspace was opened.
//!
//! Owns which files of a line are looked at: the program, the script of an interpreter, and the
//! interpreter that a script names. Never looks at what a program reads by itself. INVARIANT: two
//! looks are equal only if every file is at the same place, and every pinned one has equal bytes.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use provost_plan::digest::{Digest, Domain};
use provost_wire::process::{RUNS_NO_FILE, is_interpreter, locate};
use serde_json::{Map, Value};

use crate::limits::PIN_BYTES_MAX;

/// Longest first line of a script that is read.
const SHEBANG_BYTES_MAX: u64 = 512;

/// Which files of a line are held to their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pin {
    /// Those inside the workspace: what tools may write there, no package manager updates.
    #[default]
    Inside,
    /// Every file, wherever it lies.
    Content,
    /// No file.
    None,
}

impl Pin {
    /// The words of the format.
    pub(crate) const WORDS: [(&'static str, Self); 2] =
        [("content", Self::Content), ("none", Self::None)];
}

/// Where a line is carried out.
#[derive(Clone, Copy, Debug)]
pub(super) struct PinScope<'a> {
    /// The workspace, as a canonical path.
    pub base: &'a Path,
    /// The folder that programs run in.
    pub dir: &'a Path,
    /// The folders that programs are looked up in, as in `PATH`.
    pub path: &'a str,
    /// Which files are held to their bytes.
    pub pin: Pin,
}

/// The files that a line runs, as they were at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PinnedFiles(Vec<PinnedFile>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct PinnedFile {
    /// The canonical path, links followed.
    real: PathBuf,
    /// That place, below the workspace if it lies there.
    shown: String,
    /// Its bytes, if it is held to them.
    bytes: Option<Digest>,
}

impl PinnedFiles {
    /// A look at the files of a line, given its constant arguments.
    ///
    /// # Errors
    /// Which of them cannot be read, and why.
    pub(super) fn read(scope: &PinScope<'_>, argv: &[Option<&str>]) -> Result<Self, String> {
        if scope.pin == Pin::None {
            return Ok(Self::default());
        }
        let program = argv.first().copied().flatten().unwrap_or_default();
        let mut files: Vec<PathBuf> = Vec::new();
        files.extend(locate(program, scope.dir, scope.path).ok());
        if is_interpreter(program) {
            files.extend(script(scope, argv.get(1..).unwrap_or_default()));
        }
        let named: Vec<PathBuf> = files.iter().filter_map(|file| interpreter(file)).collect();
        files.extend(named);
        let pinned = files.iter().map(|file| PinnedFile::read(scope, file));
        pinned.collect::<Result<_, _>>().map(Self)
    }

    /// Those that are held to their bytes, for the digest of an operation; none if no file is.
    pub(super) fn value(&self) -> Option<Value> {
        let held = self.0.iter().filter_map(|file| {
            let bytes = file.bytes?;
            Some((file.shown.clone(), Value::from(bytes.to_string())))
        });
        let held: Map<String, Value> = held.collect();
        (!held.is_empty()).then_some(Value::Object(held))
    }

    /// The first file that is another in a later look.
    pub(super) fn first_change<'a>(&'a self, now: &'a Self) -> Option<&'a str> {
        let differs = |file: &&PinnedFile| !now.0.contains(file);
        let gone = self.0.iter().find(differs);
        let new = || now.0.iter().find(|file| !self.0.contains(file));
        gone.or_else(new).map(|file| file.shown.as_str())
    }
}

impl PinnedFile {
    fn read(scope: &PinScope<'_>, file: &Path) -> Result<Self, String> {
        let unread = |error: &io::Error| format!("`{}` cannot be read: {error}", file.display());
        let real = fs::canonicalize(file).map_err(|error| unread(&error))?;
        let below = real.strip_prefix(scope.base).ok();
        let shown = below.unwrap_or(&real).display().to_string();
        let is_held = below.is_some() || scope.pin == Pin::Content;
        let bytes = match is_held {
            true => Some(digest(&real).map_err(|error| unread(&error))?),
            false => None,
        };
        Ok(Self { real, shown, bytes })
    }
}

fn digest(file: &Path) -> io::Result<Digest> {
    let mut bytes = Vec::new();
    File::open(file)?
        .take(PIN_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PIN_BYTES_MAX {
        let message =
            format!("it has more than {PIN_BYTES_MAX} bytes; `pin = \"none\"` lets it be");
        return Err(io::Error::other(message));
    }
    Ok(Digest::of_bytes(Domain::Evidence, &bytes))
}

/// The file that an interpreter runs: the first that its arguments name.
fn script(scope: &PinScope<'_>, args: &[Option<&str>]) -> Option<PathBuf> {
    let words = args.iter().flatten();
    let mut files = words
        .take_while(|word| !RUNS_NO_FILE.contains(word))
        .map(|word| scope.dir.join(word));
    files.find(|file| file.is_file())
}

/// The interpreter that the first line of a script names.
fn interpreter(file: &Path) -> Option<PathBuf> {
    let mut line = Vec::new();
    let file = BufReader::new(File::open(file).ok()?);
    file.take(SHEBANG_BYTES_MAX)
        .read_until(b'\n', &mut line)
        .ok()?;
    let line = std::str::from_utf8(line.strip_prefix(b"#!")?).ok()?;
    let named = PathBuf::from(line.split_whitespace().next()?);
    named.is_file().then_some(named)
}
