//! Commands: programs of this machine, each operation a fixed line of arguments.
//!
//! Owns the tool kind `command`: what is started is the operator's program with the operator's
//! arguments, in which the call fills places. No shell reads them. Never repeats a command.
//! INVARIANT: an argument of a call fills one place of one argument; it can neither add one nor
//! become an option.
//!
//! Mapping (class × landing); a read is told the same, though nothing hangs on its landing:
//!
//! | what happened | class | landing |
//! |---|---|---|
//! | it exits with 0, or a code that `exit` calls `ok`, and its output can be read | `ok` | happened |
//! | so, and the output is no JSON or no UTF-8 | `output_invalid` | happened |
//! | the arguments cannot be built | `invalid_arguments` | none |
//! | a secret is missing: the run pauses and names it | `unavailable` | none |
//! | its arguments are longer than the system takes | `invalid_arguments` | none |
//! | it cannot be started | `unavailable` | none |
//! | what it runs is not what it was when the workspace was opened | `drift` | none |
//! | it exits with a code that `exit` names, but `unavailable` | as named | none |
//! | it exits with any other code, or by a signal | `unavailable` | unknown |
//! | it prints more than `max_bytes`, and is ended | `output_invalid` | unknown |
//! | the time is over, and it is ended | `timeout` | unknown |
//! | it cannot be told how it ended | `unavailable` | unknown |
//!
//! `errors = "no_effect"` makes the landing `none` wherever it exited by itself with another code.

use std::path::PathBuf;
use std::sync::Arc;

use provost_plan::catalog::KeyCarrier;
use provost_plan::digest::canonical;
use provost_plan::duration;
use provost_run::outcome::{Class, Landing, Reply};
use provost_wire::Redactor;
use provost_wire::process::{Program, ProgramError, ProgramOutput, lacking};
use serde_json::Value;

use crate::adapter::{Adapter, CallFuture};
use crate::config::{ResponseError, ResponseFormat, media_with_sandbox};
use crate::fault::{Fault, Request, one_line};
use crate::linked_path::{LinkError, LinkedPath};
use crate::protected_paths::ProtectedPaths;

mod argv;
mod pin;
mod settings;

pub(crate) use settings::CommandSettings;

use pin::{PinScope, PinnedFiles};
use settings::CommandLine;

/// Most characters of what a program wrote to one of its outputs, in a message.
const WORDS_CHARS_MAX: usize = 200;
/// How many of them are the beginning, where more was written.
const WORDS_HEAD_CHARS: usize = 60;

/// An open command tool.
#[derive(Clone, Debug)]
pub(crate) struct CommandTool {
    base: PathBuf,
    dir: LinkedPath,
    settings: Arc<CommandSettings>,
    protected: Arc<ProtectedPaths>,
}

impl CommandTool {
    /// Opens the tool; an `Err` says which protected thing lies where it works.
    pub(crate) fn open(
        settings: &CommandSettings,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Self, String> {
        let base = protected.base().to_owned();
        let tool = Self {
            dir: LinkedPath::open(&base, &settings.root.value),
            base,
            settings: Arc::new(settings.clone()),
            protected: Arc::clone(protected),
        };
        match tool.reached() {
            Some(name) => Err(name),
            None => Ok(tool),
        }
    }

    /// What protected thing the working directory holds or lies in, as it stands now.
    fn reached(&self) -> Option<String> {
        let real = self.dir.current().ok()?;
        self.protected.overlapping(&real)
    }

    /// The working directory, or what keeps a program from working there.
    fn check_root(&self) -> Result<PathBuf, Fault> {
        let shown = &self.settings.root.value;
        if let Some(name) = self.reached() {
            let message = format!("the folder `{shown}` reaches `{name}`");
            return Err(Fault::no_effect(Class::PermissionDenied, message));
        }
        match self.dir.locate() {
            Ok(dir) if dir.is_dir() => Ok(dir),
            Err(LinkError::Moved) => Err(self.dir.drift("folder")),
            Ok(_) | Err(LinkError::Unreachable(_)) => {
                let message = format!(
                    "the folder `{shown}` is not there; create it, or correct `root` in \
                     provost.toml"
                );
                Err(Fault::no_effect(Class::Unavailable, message))
            }
        }
    }

    async fn execute(&self, line: &CommandLine, request: &Request) -> Result<ProgramOutput, Fault> {
        let dir = self.check_root()?;
        let key = request.key.clone().map_or(Value::Null, Value::from);
        let args = Value::Object(request.args.clone());
        let argv = line.argv.fill(&args, &key)?;
        let stdin = line.stdin.as_deref().map(|name| stdin_of(request, name));
        self.check_pins(line)?;
        let env = self.variables(request)?;
        let sandbox = self.settings.sandbox.as_ref();
        let sandbox = sandbox.map(|sandbox| sandbox.rules(&self.base, Some(&dir)));
        let ended = Program {
            argv: &argv,
            stdin: stdin.as_ref().map(String::as_bytes),
            dir: &dir,
            env: &env,
            timeout: request.timeout,
            output_bytes_max: request.operation.max_bytes,
            memory_bytes_max: self.settings.memory_bytes_max,
            sandbox: sandbox.as_ref(),
        }
        .run();
        ended.await.map_err(|error| program_fault(&error, request))
    }

    /// Refuses to run what is not what was looked at when the workspace was opened.
    fn check_pins(&self, line: &CommandLine) -> Result<(), Fault> {
        let scope = PinScope {
            base: &self.base,
            dir: self.dir.path(),
            path: &self.settings.path,
            pin: self.settings.pin,
        };
        let drift = |message: String| Err(Fault::no_effect(Class::Drift, message));
        match PinnedFiles::read(&scope, &line.argv.constants()) {
            Ok(now) => match line.pins.first_change(&now) {
                None => Ok(()),
                Some(file) => drift(format!(
                    "`{file}` changed after the workspace was \
                     opened; check it, and plan again"
                )),
            },
            Err(message) => drift(message),
        }
    }

    /// All variables that the program sees.
    fn variables(&self, request: &Request) -> Result<Vec<(String, String)>, Fault> {
        let mut env = vec![("PATH".to_owned(), self.settings.path.clone())];
        env.extend(self.settings.env.clone());
        for (name, secret) in &self.settings.secret_env {
            let value = secret
                .resolve(&self.base)
                .map_err(|error| Fault::missing_secret(secret, &error))?;
            env.push((name.clone(), value.expose().to_owned()));
        }
        if let Some((KeyCarrier::Env(name), key)) = request.carried_key()? {
            env.push((name.clone(), key.to_owned()));
        }
        Ok(env)
    }
}

impl Adapter for CommandTool {
    fn trouble(&self) -> Option<String> {
        let place = self.check_root().err().map(|fault| fault.message);
        place.or_else(|| {
            let mut names = self.settings.secret_env.iter().map(|(_, secret)| secret);
            names.find_map(|name| Some(name.resolve(&self.base).err()?.to_string()))
        })
    }

    fn defects(&self) -> Vec<String> {
        let lines = self.settings.lines.iter();
        let lack = lines.filter_map(|(name, line)| {
            let argv = line.argv.constants();
            let what = lacking(&argv, self.dir.path(), &self.settings.path)?;
            Some(format!("`{name}` cannot be started: {what}"))
        });
        lack.collect()
    }

    fn perform<'a>(&'a self, request: &'a Request, redactor: &'a Redactor) -> CallFuture<'a> {
        Box::pin(async {
            let line = request.find(&self.settings.lines)?;
            let ended = self.execute(line, request).await?;
            let level = ended.sandbox_level;
            let mut reply = reply_of(ended, line, request, redactor);
            reply.media = media_with_sandbox(&reply.media, level);
            Ok(reply)
        })
    }
}

/// What a program reads from its standard input: a text as it is, another value as its JSON, and
/// nothing for an argument that the call leaves out.
fn stdin_of(request: &Request, name: &str) -> String {
    match request.args.get(name) {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => canonical(other),
    }
}

/// What a command means that did not end by itself.
fn program_fault(error: &ProgramError, request: &Request) -> Fault {
    let (class, landing) = match error {
        ProgramError::NotStarted { .. } => (Class::Unavailable, Landing::None),
        ProgramError::TooLong { .. } => (Class::InvalidArguments, Landing::None),
        ProgramError::TimedOut => {
            let time = duration::print(request.timeout);
            let message = format!("the command did not end within {time}, and was ended");
            return Fault::new(Class::Timeout, Landing::Unknown, message);
        }
        ProgramError::TooLarge { .. } => (Class::OutputInvalid, Landing::Unknown),
        ProgramError::Lost { .. } => (Class::Unavailable, Landing::Unknown),
    };
    Fault::new(class, landing, error.to_string())
}

fn reply_of(
    ended: ProgramOutput,
    line: &CommandLine,
    request: &Request,
    redactor: &Redactor,
) -> Reply {
    let named = ended.code.and_then(|code| line.exit.get(&code)).copied();
    let class = match ended.code {
        Some(0) => Class::Ok,
        _ => named.unwrap_or(Class::Unavailable),
    };
    let media = match line.answer {
        ResponseFormat::Json => "application/json",
        ResponseFormat::Text => "text/plain",
    };
    if class == Class::Ok {
        return match output(&ended.stdout, line.answer) {
            Ok(output) => Reply::ok(output, ended.stdout, media),
            Err(message) => {
                let mut reply = Reply::from(Fault::bad_output(message));
                reply.evidence = ended.stdout;
                reply
            }
        };
    }
    let told = named.is_some() && class != Class::Unavailable;
    let proven = request.operation.errors_no_effect && ended.code.is_some();
    let landing = if told || proven {
        Landing::None
    } else {
        Landing::Unknown
    };
    let mut reply = Reply::failed(class, landing, one_line(&words(&ended, redactor)));
    reply.evidence = ended.stdout;
    reply.media = media.to_owned();
    reply
}

fn output(printed: &[u8], answer: ResponseFormat) -> Result<Value, String> {
    answer.read(printed).map_err(|unread| match unread {
        ResponseError::NotText => "the output is not text in UTF-8".to_owned(),
        ResponseError::NotJson(error) => format!("the output is not JSON: {error}"),
    })
}

/// How it ended and, in short, what it says about it: the beginning and the end of both outputs.
fn words(ended: &ProgramOutput, redactor: &Redactor) -> String {
    let status = &ended.status;
    let said = match ended.stderr_is_cut {
        true => {
            let (head, tail) = (&ended.stderr, &ended.stderr_tail);
            let head = one_line_of(&redactor.redact_cut(head));
            let tail = one_line_of(&redactor.redact_rest(tail));
            // Why a gap even where one of them is short: something is missing there.
            ends(&format!("{head} … {tail}"))
        }
        false => {
            let whole = [ended.stderr.as_slice(), &ended.stderr_tail].concat();
            ends(&one_line_of(&redactor.redact(&whole)))
        }
    };
    let printed = ends(&one_line_of(&redactor.redact(&ended.stdout)));
    match (said.is_empty(), printed.is_empty()) {
        (true, true) => format!("the command ended with {status}"),
        (false, true) => format!("the command ended with {status}: {said}"),
        (true, false) => format!("the command ended with {status}; stdout: {printed}"),
        (false, false) => format!("the command ended with {status}: {said}; stdout: {printed}"),
    }
}

/// What was written, in one line.
fn one_line_of(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let clean = text.replace(char::is_control, " ");
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line, of which the middle is left out where it is long.
fn ends(line: &str) -> String {
    let count = line.chars().count();
    if count <= WORDS_CHARS_MAX {
        return line.to_owned();
    }
    let head: String = line.chars().take(WORDS_HEAD_CHARS).collect();
    let rest = WORDS_CHARS_MAX - WORDS_HEAD_CHARS - 3;
    let tail: String = line.chars().skip(count - rest).collect();
    format!("{} … {}", head.trim_end(), tail.trim_start())
}
