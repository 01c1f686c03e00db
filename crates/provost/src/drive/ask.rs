//! Asking the person at the terminal: a yes, a no with its reason, an answer.
//!
//! Owns prompts, and taking one back when somebody else was faster or its time is over. INVARIANT:
//! a line typed for a prompt that was taken back answers nothing.

use provost_engine::people::Statement;
use provost_engine::session::Session;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{oneshot, watch};

use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::screen::{card, question};

/// What came of asking.
pub enum AskResult {
    /// The person says this.
    Said(Box<Statement>),
    /// They leave it for later.
    Later,
    /// Somebody said something to the run elsewhere.
    Elsewhere,
    /// The time for it is over.
    Expired,
}

/// Who reads lines from the terminal.
#[derive(Default)]
pub struct LineReader {
    /// A line that nobody waits for any more, or not yet: a read cannot be cancelled.
    reading: Option<KeyReading>,
}

enum InputLine {
    Typed(String),
    /// The end of the input, or the command is to halt.
    None,
    Elsewhere,
    Expired,
}

/// What the person says to what waits.
pub async fn person(
    typist: &mut LineReader,
    session: &Session,
    halt: &mut watch::Receiver<bool>,
) -> AskResult {
    if let Some((digest, asked)) = session.open_questions().into_iter().next() {
        output::note(&question::page(&digest, &asked).finish());
        loop {
            let prompt = "answer (Enter leaves it for later): ";
            let typed = match typist.line(prompt, session, halt).await {
                InputLine::Typed(typed) if !typed.is_empty() => typed,
                InputLine::Typed(_) | InputLine::None => return AskResult::Later,
                InputLine::Elsewhere => return AskResult::Elsewhere,
                InputLine::Expired => return AskResult::Expired,
            };
            match question::read(&asked, &typed) {
                Ok(value) => {
                    let question = digest;
                    return AskResult::Said(Box::new(Statement::Answer { question, value }));
                }
                Err(reason) => complain(&reason),
            }
        }
    }
    let Some((card, asked)) = session.open_cards().into_iter().next() else {
        return AskResult::Later;
    };
    output::note(&card::page(&card, &asked).finish());
    loop {
        let prompt = "approve? y = yes, n = no, Enter = later: ";
        let typed = match typist.line(prompt, session, halt).await {
            InputLine::Typed(typed) => typed,
            InputLine::None => return AskResult::Later,
            InputLine::Elsewhere => return AskResult::Elsewhere,
            InputLine::Expired => return AskResult::Expired,
        };
        match typed.to_lowercase().as_str() {
            "" => return AskResult::Later,
            "y" | "yes" => {
                let steps = Vec::new();
                return AskResult::Said(Box::new(Statement::Approve { card, steps }));
            }
            "n" | "no" => {
                return match typist.line("why not? ", session, halt).await {
                    InputLine::Typed(reason) => AskResult::Said(Box::new(Statement::Reject {
                        card,
                        reason,
                        all: false,
                    })),
                    InputLine::None => AskResult::Later,
                    InputLine::Elsewhere => AskResult::Elsewhere,
                    InputLine::Expired => AskResult::Expired,
                };
            }
            _ => complain("type y, n or nothing"),
        }
    }
}

fn complain(reason: &str) {
    let mut page = Page::new();
    page.put(TextStyle::Warn, reason).end();
    output::note(&page.finish());
}

impl LineReader {
    /// A line typed at the terminal, unless something else comes first.
    async fn line(
        &mut self,
        prompt: &str,
        session: &Session,
        halt: &mut watch::Receiver<bool>,
    ) -> InputLine {
        output::forget_typed();
        // Why only an empty one: a line that is there was typed for another prompt.
        let left = self.reading.take().and_then(still_empty);
        let mut reading = left.unwrap_or_else(begin);
        output::note(prompt);
        tokio::select! {
            read = &mut reading => match read.ok().flatten() {
                Some(text) => InputLine::Typed(text.trim().to_owned()),
                None => InputLine::None,
            },
            _ = halt.changed() => InputLine::None,
            () = session.deadline_passes() => {
                self.reading = Some(reading);
                output::forget_typed();
                output::note("\nno longer asking: the time for it is over\n");
                InputLine::Expired
            }
            come = session.words_come() => {
                self.reading = Some(reading);
                output::forget_typed();
                if come.is_err() {
                    return InputLine::None;
                }
                output::note("\nno longer asking: the run received another statement\n");
                InputLine::Elsewhere
            }
        }
    }
}

type KeyReading = oneshot::Receiver<Option<String>>;

fn still_empty(mut reading: KeyReading) -> Option<KeyReading> {
    let nothing_yet = matches!(reading.try_recv(), Err(TryRecvError::Empty));
    nothing_yet.then_some(reading)
}

/// Begins to read a line.
fn begin() -> KeyReading {
    let (typed, line) = oneshot::channel();
    // Why a thread of its own: a read from a terminal cannot be cancelled, and must not hold up
    // the end of the command.
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = std::io::stdin().read_line(&mut text);
        let _ = typed.send(read.ok().filter(|bytes| *bytes > 0).map(|_| text));
    });
    line
}
