//! `invite`: a one-time link with which a person signs in to the server of the workspace.

use clap::Args;
use provost_engine::workspace::statement_settings;
use provost_server::serve::{ADDRESS_KEY, link};
use provost_server::{Database, DatabaseError};

use crate::failure::{Exit, Failure};
use crate::output;
use crate::workspace_path::WorkspacePath;

/// Arguments of `invite`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Who can write to `.provost/` can invite: the link signs in the person that it \
                  names, once, within 15 minutes."
)]
pub struct InviteArgs {
    /// person, as listed in policies/entities.json
    #[arg(value_name = "NAME")]
    name: String,
    /// forget which account of the login provider is theirs: the next that bears their name is
    #[arg(long)]
    new_account: bool,
}

/// Does it.
pub fn run(verb: &InviteArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let database = of_team(place, &verb.name)?;
    if verb.new_account {
        database.forget_account(&verb.name)?;
    }
    let url = database.meta(ADDRESS_KEY)?.ok_or_else(|| {
        Failure::usage("no server has run in this workspace, so there is no address to invite to")
            .hint("start it: `provost serve`")
    })?;
    output::data(&format!("{}\n", link(&database, &url, &verb.name)?));
    output::note("works once, within 15 minutes\n");
    Ok(Exit::Done)
}

/// The database of the server of a team in which a person is listed.
pub fn of_team(place: &WorkspacePath, person: &str) -> Result<Database, Failure> {
    let settings = statement_settings(&place.root()?)?;
    if settings.solo {
        return Err(
            Failure::usage("a solo workspace is served to one person alone").hint(
                "`provost serve` prints the one link there is; to invite others, remove \
                 policies/solo.cedar and list the people in policies/entities.json",
            ),
        );
    }
    if !settings.people.is_listed(person) {
        let message = format!("`{person}` is not listed in policies/entities.json");
        let names: Vec<&str> = settings.people.names().collect();
        return Err(Failure::usage(message).hint(format!("listed are: {}", names.join(", "))));
    }
    open(place)
}

/// The database of the server of this workspace.
pub fn open(place: &WorkspacePath) -> Result<Database, Failure> {
    // Why the journal first: it makes the directory, private to its user.
    drop(place.journal_to_stop()?);
    Ok(Database::open(&place.store_dir()?)?)
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Self {
        Self::usage(error.to_string())
    }
}
