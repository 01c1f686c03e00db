//! The help of the command line: commands by group, an example of each, and the exit codes.
//!
//! Owns the groups and the examples. Never parses anything for a command. INVARIANT: every command
//! stands in exactly one group and has examples, and every example parses; a test compares.

use std::fmt::Write as _;

use clap::{Args, Command, CommandFactory as _};
use provost_plan::diagnostic::nearest;

use super::Cli;
use crate::failure::{Exit, Failure};
use crate::output;

/// The heading of the options that every command has.
pub const GLOBAL: &str = "Global options";

const EXIT_CODES: &str = "\
Exit codes:
  0  succeeded, or the command is done
  1  failed, rejected, expired, refused or cancelled
  2  usage or configuration error
  3  waiting for a person, or paused
  4  in doubt whether a write happened";

/// The commands by group, in the order in which they are listed: each by its examples, what is
/// typed and what it does.
const EXAMPLES: &str = include_str!("help.txt");

/// Arguments of `help`.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// command, such as `run` or `tools add` [default: list all]
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

/// Prints what `provost COMMAND --help` prints.
pub fn run(verb: &HelpArgs) -> Result<Exit, Failure> {
    let mut command = command();
    command.build();
    let mut found = &mut command;
    for word in &verb.words {
        let names = found.get_subcommands().map(Command::get_name);
        let near = nearest(word, names).map(str::to_owned);
        let above = found.get_name().to_owned();
        found = found.find_subcommand_mut(word).ok_or_else(|| {
            let failure = Failure::usage(format!("`{above}` has no command `{word}`"));
            match near {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint("`provost help` lists the commands"),
            }
        })?;
    }
    output::data(&found.render_help().ansi().to_string());
    Ok(Exit::Done)
}

/// An example of a command.
#[derive(Clone, Copy)]
struct Example {
    group: &'static str,
    typed: &'static str,
    about: &'static str,
}

impl Example {
    /// The command.
    fn name(self) -> &'static str {
        self.typed.split(' ').next().unwrap_or_default()
    }

    /// Whether it is about this command below its own.
    fn is_of(self, name: &str, nested: &str) -> bool {
        self.typed.split(' ').take(2).eq([name, nested])
    }
}

fn examples() -> Vec<Example> {
    let mut group = "";
    let read = |line: &'static str| {
        let Some(example) = line.strip_prefix("  ") else {
            group = line;
            return None;
        };
        let (typed, about) = example.split_once(" | ")?;
        Some(Example {
            group,
            typed,
            about,
        })
    };
    EXAMPLES.lines().filter_map(read).collect()
}

/// The first example of each command.
fn commands(examples: &[Example]) -> Vec<Example> {
    let mut first = examples.to_vec();
    first.dedup_by_key(|example| example.name());
    first
}

/// The command line with its help.
pub fn command() -> Command {
    let examples = examples();
    let listed = commands(&examples);
    let command = Cli::command();
    let template = [
        "{about}\n\n{usage-heading} {usage}\n\n",
        &overview(&command, &listed),
        "Global options:\n{options}{after-help}",
    ];
    let command = command.help_template(template.concat()).after_help(format!(
        "{EXIT_CODES}\n\n`provost COMMAND --help` shows examples."
    ));
    listed.iter().fold(command, |command, one| {
        command.mut_subcommand(one.name(), |command| with_examples(command, &examples))
    })
}

/// The commands by group, in a line each.
fn overview(command: &Command, listed: &[Example]) -> String {
    let mut text = String::new();
    let width = listed.iter().map(|one| one.name().len()).max();
    let width = width.unwrap_or_default();
    for group in listed.chunk_by(|one, other| one.group == other.group) {
        let _ = writeln!(text, "{}", group.first().map_or("", |one| one.group));
        for name in group.iter().map(|one| one.name()) {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:<width$}  {about}");
        }
        text.push('\n');
    }
    text
}

/// A command with its examples, and those below it with those that are about them.
fn with_examples(command: Command, examples: &[Example]) -> Command {
    let name = command.get_name().to_owned();
    let own = examples.iter().filter(|example| example.name() == name);
    let own: Vec<Example> = own.copied().collect();
    let command = command.after_help(text(&own));
    command.mut_subcommands(|nested| {
        let about = own
            .iter()
            .filter(|example| example.is_of(&name, nested.get_name()));
        let about: Vec<Example> = about.copied().collect();
        nested.after_help(text(&about))
    })
}

fn text(examples: &[Example]) -> String {
    let width = examples.iter().map(|example| example.typed.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::from("Examples:");
    for Example { typed, about, .. } in examples {
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
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut all: Vec<_> = shown.map(Command::get_name).collect();
        let examples = examples();
        let mut grouped: Vec<_> = commands(&examples).iter().map(|one| one.name()).collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(all, grouped);
        assert_eq!(examples.len(), EXAMPLES.matches(" | ").count());
    }

    #[test]
    fn every_command_below_another_has_an_example() {
        let (command, examples) = (Cli::command(), examples());
        let mut seen = 0;
        for above in command.get_subcommands() {
            for nested in above.get_subcommands() {
                let (name, nested) = (above.get_name(), nested.get_name());
                let has = examples.iter().any(|example| example.is_of(name, nested));
                assert!(has, "{name} {nested}");
                seen += 1;
            }
        }
        // The control: some were looked at, and no example is about what is no command.
        assert!(seen > 10, "{seen}");
        assert!(!examples.iter().any(|example| example.is_of("tools", "lst")));
    }

    #[test]
    fn every_example_parses() {
        for Example { typed, about, .. } in examples() {
            assert!(!about.is_empty(), "{typed}");
            let parsed = Cli::try_parse_from(words(typed));
            assert!(parsed.is_ok(), "{typed}: {:?}", parsed.err());
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
