//! Asking the person at the terminal: a yes, a no with its reason, an answer.

use provost_engine::run::machine::Input;
use provost_engine::session::Session;
use provost_plan::policy::Principal;
use tokio::sync::{oneshot, watch};

use crate::output;
use crate::screen::page::{Look, Page};
use crate::screen::{card, question};

/// What the person says to what waits; `None` if they leave it for later.
pub async fn person(
    session: &Session,
    user: &Principal,
    halt: &mut watch::Receiver<bool>,
) -> Option<Input> {
    if let Some((digest, asked)) = session.open_questions().into_iter().next() {
        output::note(&question::page(&digest, &asked).finish());
        loop {
            let typed = line("answer (Enter leaves it for later): ", halt).await?;
            if typed.is_empty() {
                return None;
            }
            match question::read(&asked, &typed) {
                Ok(value) => {
                    return Some(Input::Answer {
                        question: digest,
                        by: user.clone(),
                        value,
                    });
                }
                Err(reason) => complain(&reason),
            }
        }
    }
    let (digest, asked) = session.open_cards().into_iter().next()?;
    output::note(&card::page(&digest, &asked).finish());
    output::forget_typed();
    loop {
        let typed = line("approve? y = yes, n = no, Enter = later: ", halt).await?;
        match typed.to_lowercase().as_str() {
            "" => return None,
            "y" | "yes" => {
                return Some(Input::Approve {
                    card: digest,
                    by: user.clone(),
                    steps: Vec::new(),
                });
            }
            "n" | "no" => {
                let reason = line("why not? ", halt).await?;
                return Some(Input::Reject {
                    card: digest,
                    by: user.clone(),
                    reason,
                });
            }
            _ => complain("type y, n or nothing"),
        }
    }
}

fn complain(reason: &str) {
    let mut page = Page::new();
    page.put(Look::Warn, reason).end();
    output::note(&page.finish());
}

/// A line typed at the terminal; `None` at its end, or when the command is to halt.
pub async fn line(prompt: &str, halt: &mut watch::Receiver<bool>) -> Option<String> {
    output::note(prompt);
    let (typed, line) = oneshot::channel();
    // Why a thread of its own: a read from a terminal cannot be cancelled, and must not hold up
    // the end of the command.
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = std::io::stdin().read_line(&mut text);
        let _ = typed.send(read.ok().filter(|bytes| *bytes > 0).map(|_| text));
    });
    tokio::select! {
        read = line => read.ok().flatten().map(|text| text.trim().to_owned()),
        _ = halt.changed() => None,
    }
}
