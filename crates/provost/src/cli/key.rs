//! `key`: the key that the statements of a person are signed with.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use provost_engine::keys::PrivateKey;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::keyring::{self, Passphrase};
use crate::output;
use crate::screen::page::Page;
use crate::user::user;
use crate::workspace_path::WorkspacePath;

/// Fewest characters of the passphrase of a new key.
const PASSPHRASE_CHARS_MIN: usize = 8;

/// Arguments of `key`.
#[derive(Debug, Args)]
pub struct KeyArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// create a key, encrypted with a passphrase
    New(New),
}

/// Arguments of `key new`.
#[derive(Debug, Args)]
struct New {
    /// owner, as in policies/entities.json [default: you]
    #[arg(long, value_name = "PERSON")]
    name: Option<String>,
    /// key file [default: in your configuration directory]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// read the passphrase from env:NAME or file:PATH
    #[arg(long, value_name = "env:NAME|file:PATH")]
    passphrase: Option<Passphrase>,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: KeyArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let What::New(new) = verb.what;
    let is_named = new.name.is_some();
    let owner = match new.name {
        Some(name) => name,
        // Why either: a key can be made where there is no workspace.
        None => place
            .workspace()
            .map_or_else(|_| user(), |workspace| workspace.user().id.clone()),
    };
    let allowed = |c: char| c.is_alphanumeric() || "._-@+".contains(c);
    if owner.is_empty() || !owner.chars().all(allowed) {
        return Err(Failure::usage(format!("`{owner}` is no name of a person"))
            .hint("letters, digits and `.` `-` `_` `@` `+`, as in policies/entities.json"));
    }
    let path = match new.output {
        Some(path) => path,
        None => keyring::default_path(&owner)?,
    };
    if path.exists() {
        return Err(
            Failure::usage(format!("`{}` already exists", path.display()))
                .hint("a key is never written over: `-o FILE` names another file"),
        );
    }
    let passphrase = passphrase(new.passphrase.as_ref(), &owner)?;
    let made = PrivateKey::generate(&owner, &passphrase);
    let (key, file) = made.map_err(|error| Failure::usage(error.to_string()))?;
    keyring::write_new(&path, &file)?;
    if new.json {
        output::json(&json!({
            "schema": "provost/key-made/v1",
            "owner": owner,
            "file": path.to_string_lossy(),
            "public": key.public().to_string(),
        }));
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    page.line(&format!("the key of {owner} is in {}", path.display()));
    output::note(&page.finish());
    output::data(&format!("{}\n", key.public()));
    let mut page = Page::new();
    page.line("to make it known, add it to policies/entities.json:")
        .line(&format!(
            "  \"{owner}\": {{ \"key\": \"{}\" }}",
            key.public()
        ));
    if is_named {
        page.line("or, if it is a server's key for logins, to `vouchers` in `[approvals]`");
    }
    output::note(&page.finish());
    Ok(Exit::Done)
}

fn passphrase(typed: Option<&Passphrase>, owner: &str) -> Result<String, Failure> {
    let passphrase = match Passphrase::source(typed) {
        Some(source) => source.read()?,
        None => {
            let ask = |prompt: &str| {
                output::typed_secretly(prompt)?.ok_or_else(|| {
                    Failure::usage("a key needs a passphrase, and there is no terminal to ask at")
                        .hint("`--passphrase env:NAME` or `file:PATH` says where it is")
                })
            };
            let first = ask(&format!("passphrase for the key of {owner}: "))?;
            if ask("once more: ")? != first {
                return Err(Failure::usage("the two passphrases differ"));
            }
            first
        }
    };
    if passphrase.chars().count() < PASSPHRASE_CHARS_MIN {
        let message = format!("a passphrase has at least {PASSPHRASE_CHARS_MIN} characters");
        return Err(Failure::usage(message).hint("a few words are easy to keep in mind"));
    }
    Ok(passphrase)
}
