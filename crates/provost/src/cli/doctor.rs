//! `doctor`: whether the workspace is fit to work in, and what nobody looked at.

use std::collections::BTreeMap;

use clap::Args;
use provost_engine::clock::now_ms;
use provost_engine::store::{Store, StoreError};
use provost_engine::telemetry::ExportStanding;
use provost_engine::workspace::Workspace;
use provost_plan::diagnostic::Severity;
use serde_json::json;

use crate::advice::Advice as _;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::screen::words::count;
use crate::workspace_path::WorkspacePath;

mod begins;
mod lock;
mod model;
mod probe;
mod recount;

/// Arguments of `doctor`.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// send one request to a model of provost.toml instead
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// count all runs that are over anew, for `stats`
    #[arg(long, conflicts_with = "model")]
    recount: bool,
    /// reach each tool, without calling an operation of it
    #[arg(long, conflicts_with_all = ["model", "recount"])]
    probe: bool,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// One thing that was looked at.
struct SetupFinding {
    what: &'static str,
    fit: bool,
    said: String,
    hint: Option<String>,
}

impl SetupFinding {
    fn fit(what: &'static str, said: impl Into<String>) -> Self {
        Self {
            what,
            fit: true,
            said: said.into(),
            hint: None,
        }
    }

    fn unfit(what: &'static str, said: impl Into<String>, hint: Option<&str>) -> Self {
        Self {
            what,
            fit: false,
            said: said.into(),
            hint: hint.map(str::to_owned),
        }
    }
}

/// Does it.
pub fn run(verb: &DoctorArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    if verb.recount {
        return recount::run(verb.json, place);
    }
    let workspace = place.unlocked()?;
    if let Some(name) = &verb.model {
        let found = model::look(&workspace, name)?;
        let not_checked = ["whether what it plans is any good".to_owned()];
        return Ok(report(verb, &workspace, &found, &not_checked));
    }
    let mut not_checked = workspace.not_checked().to_vec();
    let probed = match verb.probe {
        true => Some(probe::look(&workspace)?),
        false => None,
    };
    let none = BTreeMap::new();
    let listings = probed.as_ref().map_or(&none, |probed| &probed.listings);
    let mut found = vec![
        of_workspace(&workspace),
        of_policy(&workspace),
        lock::look(&workspace, listings, &mut not_checked),
        of_tools(&workspace, &mut not_checked),
        of_store(&workspace, &mut not_checked),
        of_stops(&workspace),
    ];
    found.extend(begins::heads(&workspace));
    found.extend(begins::planner(&workspace));
    found.extend(begins::schedules(&workspace));
    found.extend(begins::approvals(&workspace));
    found.extend(of_notices(&workspace));
    found.extend(of_telemetry(&workspace));
    found.extend(of_network(&workspace));
    found.extend(of_budget(&workspace));
    not_checked.push("whether the tools do what they declare".to_owned());
    match probed {
        Some(probed) => {
            found.extend(probed.found);
            not_checked.extend(probed.untried);
        }
        None => {
            let line =
                "whether servers of `http` tools answer: `provost doctor --probe` reaches them";
            not_checked.push(line.to_owned());
        }
    }
    Ok(report(verb, &workspace, &found, &not_checked))
}

fn report(
    verb: &DoctorArgs,
    workspace: &Workspace,
    found: &[SetupFinding],
    not_checked: &[String],
) -> Exit {
    let fit = found.iter().all(|finding| finding.fit);
    if verb.json {
        let checks: Vec<_> = found
            .iter()
            .map(|f| json!({ "what": f.what, "fit": f.fit, "text": f.said, "hint": f.hint }))
            .collect();
        output::json(&json!({
            "schema": "provost/doctor/v1",
            "fit": fit,
            "solo": workspace.is_solo(),
            "checks": checks,
            "warnings": super::check::warnings_json(&super::check::around(workspace)),
            "not_checked": not_checked,
        }));
    } else {
        let mut page = page(found, not_checked);
        super::check::warnings(&mut page, &super::check::around(workspace), Severity::Note);
        output::data(&page.finish());
    }
    if fit { Exit::Done } else { Exit::Usage }
}

fn page(found: &[SetupFinding], not_checked: &[String]) -> Page {
    let mut page = Page::new();
    let rows: Vec<Vec<Cell>> = found
        .iter()
        .map(|finding| {
            let (look, word) = if finding.fit {
                (TextStyle::Good, "ok")
            } else {
                (TextStyle::Bad, "not ok")
            };
            let said = Cell::plain(finding.said.clone());
            vec![
                Cell::new(look, word),
                Cell::new(TextStyle::Strong, finding.what),
                said,
            ]
        })
        .collect();
    page.table(0, &rows);
    for finding in found {
        if let Some(hint) = &finding.hint {
            page.end().strong("hint: ").line(hint);
        }
    }
    page.end();
    super::check::not_checked(&mut page, not_checked);
    page
}

fn of_workspace(workspace: &Workspace) -> SetupFinding {
    let tools = count(workspace.catalog().names().count(), "tool");
    let playbooks = count(workspace.playbooks().playbooks().count(), "playbook");
    let root = workspace.root().display();
    SetupFinding::fit("workspace", format!("{root}: {tools}, {playbooks}"))
}

fn of_policy(workspace: &Workspace) -> SetupFinding {
    let user = &workspace.user().id;
    let listed = workspace.people().is_listed(user);
    let said = match (workspace.is_solo(), listed) {
        (true, _) => format!("loads; solo: `{user}` may request and approve"),
        (false, true) => format!("loads; the requester may not approve; you are `{user}`"),
        // Why fit: a service may drive runs for others and answer nothing itself.
        (false, false) => format!(
            "loads; the requester may not approve; you are `{user}`, who is not listed in \
             policies/entities.json and may answer nothing"
        ),
    };
    SetupFinding::fit("policy", said)
}

fn of_tools(workspace: &Workspace, not_checked: &mut Vec<String>) -> SetupFinding {
    let hint = Some("a plan that needs it is not run until then");
    match provost_engine::engine::open_tools(workspace) {
        Ok(toolbox) => {
            let unseen = toolbox.unseen();
            not_checked.extend(unseen.map(|(tool, what)| format!("`{tool}`: {what}")));
            let (troubles, defects) = (toolbox.troubles(), toolbox.defects());
            let hint = match troubles.is_empty() {
                true => Some("correct its entry in provost.toml: a call of it would fail"),
                false => hint,
            };
            let all = troubles.iter().chain(&defects);
            let all = all.map(|one| format!("`{}`: {}", one.tool, one.message));
            let all: Vec<String> = all.collect();
            if all.is_empty() {
                return SetupFinding::fit("tools", "all are usable");
            }
            SetupFinding::unfit("tools", all.join("; "), hint)
        }
        Err(error) => SetupFinding::unfit("tools", error.to_string(), hint),
    }
}

/// What people stopped: no fault, but whoever wonders why nothing moves looks here.
fn of_stops(workspace: &Workspace) -> SetupFinding {
    let stops = match Store::open_read_only(&workspace.store_dir()) {
        Ok(store) => store.stops().unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    let said = stops
        .iter()
        .map(|stop| format!("{} is paused by {}: {}", stop.what(), stop.by, stop.reason));
    let said: Vec<String> = said.collect();
    if said.is_empty() {
        return SetupFinding::fit("pauses", "nothing is paused");
    }
    SetupFinding::fit("pauses", said.join("; "))
}

/// Who is to be told, and what was to be told and was not. Nothing where nobody is told.
fn of_notices(workspace: &Workspace) -> Option<SetupFinding> {
    let left = match Store::open_read_only(&workspace.store_dir()) {
        Ok(store) => store.undelivered(now_ms()),
        Err(_) => Ok(Vec::new()),
    };
    let left = match left {
        Ok(left) => left,
        Err(error) => return Some(SetupFinding::unfit("notices", error.to_string(), None)),
    };
    let undelivered = left.first().map(|first| {
        let why = first.said.as_deref().unwrap_or("not tried yet");
        format!(
            "{} undelivered, the oldest of run {} to {}: {why}",
            count(left.len(), "notice"),
            first.run,
            first.target
        )
    });
    let defects = workspace.notify().iter().filter_map(|target| {
        let defect = target.defect(workspace.root())?;
        Some(format!("`{}`: {defect}", target.name))
    });
    let mut defects: Vec<String> = defects.collect();
    if !defects.is_empty() {
        defects.extend(undelivered);
        let hint = "correct `[notify.NAME]` in provost.toml, or give it what it lacks: nobody is \
                    told until then";
        return Some(SetupFinding::unfit(
            "notices",
            defects.join("; "),
            Some(hint),
        ));
    }
    // Why fit: `work`, which delivers them, must be able to start.
    match undelivered {
        Some(said) => {
            let said = format!("{said}; `provost work` tries again");
            Some(SetupFinding::fit("notices", said))
        }
        None if workspace.notify().is_empty() => None,
        None => Some(SetupFinding::fit("notices", "all notices were delivered")),
    }
}

/// What was to be sent as traces and was not; nothing where nobody asked for it.
fn of_telemetry(workspace: &Workspace) -> Option<SetupFinding> {
    workspace.telemetry()?;
    let store = Store::open_read_only(&workspace.store_dir()).ok()?;
    let standing = ExportStanding::of(&store).ok()??;
    let behind = count(
        usize::try_from(standing.behind).unwrap_or(usize::MAX),
        "event",
    );
    let Some(why) = standing.said else {
        let said = match standing.behind {
            0 => "all was sent".to_owned(),
            _ => format!("{behind} to send"),
        };
        return Some(SetupFinding::fit("telemetry", said));
    };
    let said = match standing.unfit {
        0 => format!("{behind} to send: {why}"),
        unfit => format!("{behind} to send, {unfit} left out as malformed: {why}"),
    };
    // Why fit: a service that is checked before it starts must not wait for a receiver.
    Some(SetupFinding::fit("telemetry", said))
}

/// What is left of the budget that all runs share; nothing where there is none.
fn of_budget(workspace: &Workspace) -> Option<SetupFinding> {
    let budget = workspace.admission().budget.as_ref()?;
    let period = budget.per.name_at(now_ms());
    let spent = match Store::open_read_only(&workspace.store_dir()) {
        Ok(store) => store.spent(&period),
        Err(_) => Ok(Default::default()),
    };
    let (money, tokens) = match spent {
        Ok(spent) => spent,
        Err(error) => return Some(SetupFinding::unfit("budget", error.to_string(), None)),
    };
    let money = budget
        .money
        .map(|most| format!("{money} of {most} in money"));
    let tokens = budget
        .tokens
        .map(|most| format!("{tokens} of {most} tokens"));
    let parts: Vec<String> = money.into_iter().chain(tokens).collect();
    let when = match period.as_str() {
        "" => String::new(),
        period => format!(" in {period}"),
    };
    let said = format!("{} reserved or spent{when}", parts.join(", "));
    Some(SetupFinding::fit("budget", said))
}

/// The proxy in force; nothing where there is none.
fn of_network(workspace: &Workspace) -> Option<SetupFinding> {
    let proxy = workspace.proxy()?;
    let said = format!("others are reached through {proxy}; nothing of it was tried");
    Some(SetupFinding::fit("network", said))
}

fn of_store(workspace: &Workspace, not_checked: &mut Vec<String>) -> SetupFinding {
    let dir = workspace.store_dir();
    match Store::open_read_only(&dir) {
        Err(StoreError::Missing { .. }) => {
            not_checked.push("whether a journal can be written: there is none yet".to_owned());
            return SetupFinding::fit("journal", "nothing has run here yet");
        }
        Err(error) => return SetupFinding::unfit("journal", error.to_string(), error.advice()),
        Ok(store) => {
            if let Err(error) = store.verify() {
                return SetupFinding::unfit("journal", error.to_string(), error.advice());
            }
        }
    }
    // Why only now: opening it to write would make one where there is none.
    match Store::open(&dir) {
        Ok(_) => SetupFinding::fit("journal", "writable, and its chains are valid"),
        Err(error) => SetupFinding::unfit("journal", error.to_string(), error.advice()),
    }
}
