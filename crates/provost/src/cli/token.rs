//! `token`: how programs show the server for whom they speak.

use std::time::Duration;

use clap::{Args, Subcommand};
use provost_engine::clock::now_ms;
use provost_server::StoredToken;

use super::invite::{of_team, open};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::screen::words::moment;
use crate::workspace_path::WorkspacePath;

const DAY: u64 = 24 * 60 * 60;
/// The longest life of a token.
const LASTS_MAX: Duration = Duration::from_secs(366 * DAY);

/// Arguments of `token`.
#[derive(Clone, Debug, Args)]
pub struct TokenArgs {
    #[command(subcommand)]
    verb: TokenVerb,
}

#[derive(Clone, Debug, Subcommand)]
enum TokenVerb {
    /// make a token and print it, once
    New(NewArgs),
    /// list the tokens that count
    List,
    /// end a token
    Revoke {
        /// name of the token
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Clone, Debug, Args)]
struct NewArgs {
    /// name of the token: it stands beside what the program does
    #[arg(value_name = "NAME")]
    name: String,
    /// person it speaks for, as listed in policies/entities.json
    #[arg(long = "for", value_name = "PERSON")]
    person: String,
    /// speak as an agent: begin runs and see them, and say nothing to any
    #[arg(long)]
    agent: bool,
    /// life, in days or hours: 90d, 12h
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = life)]
    expires: Duration,
}

fn life(text: &str) -> Result<Duration, String> {
    let unit = |letter, seconds: u64| {
        let count: u64 = text.strip_suffix(letter)?.parse().ok()?;
        Some(Duration::from_secs(count.checked_mul(seconds)?))
    };
    let life = unit('d', DAY).or_else(|| unit('h', 3_600));
    life.filter(|life| !life.is_zero() && *life <= LASTS_MAX)
        .ok_or_else(|| "write 90d or 12h, at most 366d".to_owned())
}

/// Does it.
pub fn run(verb: &TokenArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    match &verb.verb {
        TokenVerb::New(new) => make(new, place),
        TokenVerb::List => list(place),
        TokenVerb::Revoke { name } => {
            if !open(place)?.revoke(name, None)? {
                return Err(Failure::usage(format!("there is no token `{name}`"))
                    .hint("`provost token list` names them"));
            }
            output::note(&format!("the token `{name}` counts no more\n"));
            Ok(Exit::Done)
        }
    }
}

fn make(new: &NewArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !(1..=40).contains(&new.name.len()) || !new.name.chars().all(plain) {
        let message = "a token's name has up to 40 letters, digits, `-`, `_` and `.`";
        return Err(Failure::usage(message));
    }
    let database = of_team(place, &new.person)?;
    let now = now_ms();
    let life = i64::try_from(new.expires.as_millis()).unwrap_or(i64::MAX);
    let secret = database.new_token(&StoredToken {
        name: new.name.clone(),
        person: new.person.clone(),
        is_agent: new.agent,
        made_ms: now,
        ends_ms: now.saturating_add(life),
    })?;
    output::data(&format!("{secret}\n"));
    output::note("shown this once: programs send it as `Authorization: Bearer TOKEN`\n");
    Ok(Exit::Done)
}

fn list(place: &WorkspacePath) -> Result<Exit, Failure> {
    let tokens = open(place)?.tokens(None)?;
    if tokens.is_empty() {
        output::note("no token counts in this workspace\n");
    }
    let rows: Vec<Vec<Cell>> = tokens
        .iter()
        .map(|token| {
            let whom = if token.is_agent { "agent of " } else { "" };
            vec![
                Cell::new(TextStyle::Strong, token.name.clone()),
                Cell::plain(format!("{whom}{}", token.person)),
                Cell::new(TextStyle::Faint, format!("until {}", moment(token.ends_ms))),
            ]
        })
        .collect();
    let mut page = Page::new();
    page.table(0, &rows);
    output::data(&page.finish());
    Ok(Exit::Done)
}
