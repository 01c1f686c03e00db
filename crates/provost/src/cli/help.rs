//! The help of the command line: commands by group, an example of each, and the exit codes.
//!
//! Owns the groups and the examples. Never parses anything for a command. INVARIANT: every command
//! stands in exactly one group and has examples, and every example parses; a test compares.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use super::Cli;

/// The heading of the options that every command has.
pub const GLOBAL: &str = "Global options";

const EXIT_CODES: &str = "\
Exit codes:
  0  succeeded, or the command is done
  1  failed, rejected, expired, refused or cancelled
  2  usage or configuration error
  3  waiting for a person, or paused
  4  in doubt whether a write happened";

/// A command with its examples: what is typed, and what it does.
type CommandHelp = (&'static str, &'static [(&'static str, &'static str)]);

/// The commands by group, in the order in which they are listed.
const GROUPS: [(&str, &[CommandHelp]); 6] = [
    (
        "Start",
        &[
            (
                "init",
                &[("init notes", "create a workspace in the directory notes")],
            ),
            (
                "run",
                &[
                    (
                        "run \"Find welcome in my notes\"",
                        "use the playbook that matches, or [planner]",
                    ),
                    (
                        "run --ask plan \"Find welcome in my notes\"",
                        "approve the whole plan first",
                    ),
                ],
            ),
            (
                "apply",
                &[(
                    "apply plan.json",
                    "execute a plan saved by `provost plan -o plan.json`",
                )],
            ),
        ],
    ),
    (
        "Plan",
        &[
            (
                "plan",
                &[(
                    "plan \"Find welcome in my notes\" -o plan.json",
                    "save the plan, execute it later",
                )],
            ),
            (
                "check",
                &[
                    ("check playbooks/latency.yaml", "check a playbook"),
                    ("check plan.yaml --fix", "apply safe fixes and check again"),
                ],
            ),
            (
                "show",
                &[
                    ("show plan.yaml", "show a plan for review"),
                    ("show k3q7", "show a run and its answer"),
                ],
            ),
            (
                "diff",
                &[
                    ("diff k3q7 1 3", "compare revisions 1 and 3 of a run"),
                    ("diff old.yaml new.yaml", "compare two plan files"),
                ],
            ),
            (
                "explain",
                &[
                    ("explain R101", "explain one code"),
                    ("explain", "list all codes"),
                ],
            ),
        ],
    ),
    (
        "People",
        &[
            (
                "inbox",
                &[
                    ("inbox", "list what waits, with the commands to type"),
                    ("inbox --check", "for a monitor: only the exit code"),
                ],
            ),
            (
                "approve",
                &[
                    (
                        "approve k3q7@6e242e3b",
                        "approve the card with this digest and continue",
                    ),
                    (
                        "approve card.json -o yes.json",
                        "sign a card elsewhere, for `provost record`",
                    ),
                ],
            ),
            (
                "reject",
                &[(
                    "reject k3q7@6e242e3b --reason \"too much\"",
                    "the planner can read why",
                )],
            ),
            (
                "answer",
                &[(
                    "answer k3q7 \"Payment API\"",
                    "answer the only open question",
                )],
            ),
            (
                "settle",
                &[(
                    "settle k3q7 page@4f1c --happened --reason \"the pager shows it\"",
                    "end the doubt about this attempt",
                )],
            ),
            (
                "amend",
                &[
                    (
                        "amend k3q7 --set page.message=\"17 open\"",
                        "change an argument",
                    ),
                    ("amend k3q7 --plan plan.yaml", "replace the plan"),
                ],
            ),
            (
                "record",
                &[("record yes.json", "import what somebody signed elsewhere")],
            ),
            (
                "cancel",
                &[
                    ("cancel k3q7", "end the run"),
                    ("cancel k3q7 --undo", "undo what happened first"),
                ],
            ),
            (
                "pause",
                &[
                    ("pause --all --reason incident", "stop everything"),
                    ("pause --tool pager --reason loops", "stop one tool"),
                ],
            ),
            (
                "resume",
                &[
                    ("resume k3q7", "continue a run"),
                    ("resume --all", "lift a pause"),
                ],
            ),
        ],
    ),
    (
        "Look",
        &[
            ("runs", &[("runs", "list runs, newest first")]),
            (
                "trace",
                &[(
                    "trace k3q7 --execution",
                    "show attempts, results and doubts",
                )],
            ),
            (
                "why",
                &[(
                    "why k3q7",
                    "explain the outcome, with the events that prove it",
                )],
            ),
        ],
    ),
    (
        "Set up",
        &[
            (
                "tools",
                &[
                    ("tools list", "list operations"),
                    (
                        "tools add disk -- npx server-filesystem .",
                        "add an MCP server",
                    ),
                    ("tools lock", "pin the definitions you reviewed"),
                    (
                        "tools call notes.read path=welcome.md",
                        "call one operation",
                    ),
                ],
            ),
            (
                "policy",
                &[
                    ("policy check", "show decisions"),
                    ("policy test", "run policies/tests"),
                ],
            ),
            (
                "key",
                &[("key new", "create your key; it asks for a passphrase")],
            ),
            (
                "doctor",
                &[
                    ("doctor", "check everything"),
                    ("doctor --model large", "try a model"),
                ],
            ),
        ],
    ),
    (
        "Operate",
        &[
            (
                "work",
                &[("work", "as a service"), ("work --until-idle", "for cron")],
            ),
            (
                "mcp",
                &[
                    ("mcp", "over stdin and stdout"),
                    ("mcp --http 127.0.0.1:4519 --token env:TOKEN", "over HTTP"),
                ],
            ),
            (
                "audit",
                &[
                    ("audit verify", "verify the journal"),
                    ("audit sign", "sign its head now"),
                ],
            ),
            ("backup", &[("backup copy.db", "a verified copy")]),
            (
                "prune",
                &[(
                    "prune --evidence-older 30d --dry-run",
                    "show what would be deleted",
                )],
            ),
        ],
    ),
];

/// The command line with its help.
pub fn command() -> Command {
    let command = Cli::command();
    let mut listed = String::new();
    for (heading, commands) in GROUPS {
        let _ = writeln!(listed, "{heading}:");
        for (name, _) in commands {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(listed, "  {name:<8} {about}");
        }
        listed.push('\n');
    }
    let template = [
        "{about}\n\n{usage-heading} {usage}\n\n",
        &listed,
        "Global options:\n{options}{after-help}",
    ];
    let template = template.concat();
    let command = command.help_template(template).after_help(format!(
        "{EXIT_CODES}\n\n`provost COMMAND --help` shows examples."
    ));
    let shown = GROUPS.iter().flat_map(|(_, commands)| *commands);
    shown.fold(command, |command, (name, examples)| {
        command.mut_subcommand(name, |command| command.after_help(examples_text(examples)))
    })
}

fn examples_text(examples: &[(&str, &str)]) -> String {
    let width = examples
        .iter()
        .map(|(typed, _)| typed.len())
        .max()
        .unwrap_or_default();
    let mut text = String::from("Examples:");
    for (typed, about) in examples {
        let _ = write!(text, "\n  provost {typed:<width$}   {about}");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn every_command_stands_in_one_group_and_has_examples() {
        let command = Cli::command();
        let mut all: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        let shown = GROUPS.iter().flat_map(|(_, commands)| *commands);
        let mut grouped: Vec<_> = shown.map(|(name, _)| *name).collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(all, grouped);
    }

    #[test]
    fn every_example_parses() {
        for (name, examples) in GROUPS.iter().flat_map(|(_, commands)| *commands) {
            assert!(!examples.is_empty(), "{name}");
            for (typed, about) in *examples {
                assert!(typed.split(' ').next() == Some(*name), "{typed}");
                assert!(!about.is_empty(), "{typed}");
                let parsed = Cli::try_parse_from(words(typed));
                assert!(parsed.is_ok(), "{typed}: {:?}", parsed.err());
            }
        }
        // The control: what is no command does not parse.
        assert!(Cli::try_parse_from(words("aprove k3q7")).is_err());
    }

    /// A line as a shell splits it: at spaces, but not within double quotes.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec!["provost".to_owned()];
        let (mut word, mut quoted) = (String::new(), false);
        for letter in line.chars() {
            match letter {
                '"' => quoted = !quoted,
                ' ' if !quoted => words.push(std::mem::take(&mut word)),
                _ => word.push(letter),
            }
        }
        words.push(word);
        words
    }
}
