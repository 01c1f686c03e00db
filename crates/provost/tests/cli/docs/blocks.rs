//! The blocks of a page, and what stands beside them for the test alone.

/// Why a block is not run. A reason that is not listed here is a fault of the page.
pub const REASONS: [&str; 8] = [
    // It compiles provost: `scripts/first` and `scripts/full install` do that.
    "build",
    // It shows the form of commands, in capitals: the options are checked, nothing is run.
    "forms",
    // It is a part of a program: the whole one is a test of its own crate.
    "fragment",
    // It installs from a registry: `scripts/full guide` runs it as printed.
    "registry",
    // It needs another machine or a service that is paid for: the options are checked.
    "remote", // It changes the system: `scripts/full service` checks the units.
    "root",   // It takes minutes: `tests/examples` runs the same.
    "slow",
    // It asks at a terminal or serves until it is stopped: the options are checked.
    "stays",
];

/// The languages that a block may have.
const LANGUAGES: [&str; 10] = [
    "cedar", "console", "ini", "json", "python", "rust", "sh", "text", "toml", "yaml",
];

/// A fenced block, or a comment `<!-- run … -->`, which only the test sees.
#[derive(Debug)]
pub struct Block {
    /// The line of its fence.
    pub line: usize,
    pub language: String,
    attributes: Vec<String>,
    pub text: String,
}

impl Block {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut all = self.attributes.iter();
        all.find_map(|attribute| attribute.strip_prefix(name)?.strip_prefix('='))
    }

    pub fn is(&self, name: &str) -> bool {
        self.attributes.iter().any(|attribute| attribute == name)
    }

    /// What the block itself does wrong, before anything is run.
    pub fn fault(&self) -> Option<String> {
        let language = self.language.as_str();
        if !LANGUAGES.contains(&language) && language != "run" {
            return Some(format!("no language of a block: `{language}`"));
        }
        for attribute in &self.attributes {
            let name = attribute.split('=').next().unwrap();
            let known = [
                "no-run",
                "exits",
                "of",
                "in",
                "unordered",
                "shortened",
                "terminal",
            ];
            if !known.contains(&name) {
                return Some(format!("no attribute of a block: `{attribute}`"));
            }
        }
        let bare = self.is("no-run").then_some("");
        if let Some(reason) = self.attribute("no-run").or(bare) {
            let known = REASONS.contains(&reason);
            return (!known).then(|| format!("no reason not to run a block: `{reason}`"));
        }
        let typed = |line: &str| line.starts_with("$ ") || line.starts_with("provost ");
        if language == "text" && self.text.lines().any(typed) {
            return Some("commands in a block of text".to_owned());
        }
        (language == "rust").then(|| "nothing compiles it".to_owned())
    }
}

/// Everything of a page that is run or checked, in order.
pub fn of(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(Block, usize, &str)> = None;
    for (index, line) in page.lines().enumerate() {
        let trimmed = line.trim_start();
        if let Some((block, indent, end)) = &mut open {
            if trimmed == *end {
                blocks.extend(open.take().map(|(block, ..)| block));
            } else {
                block.text += line.get(*indent..).unwrap_or(trimmed);
                block.text += "\n";
            }
            continue;
        }
        let (info, end) = match trimmed.strip_prefix("```") {
            Some(info) => (info, "```"),
            None => match trimmed.strip_prefix("<!-- run") {
                Some(info) => (info, "-->"),
                None => continue,
            },
        };
        let mut words = info.split_whitespace().map(str::to_owned);
        let language = match end {
            "-->" => "run".to_owned(),
            _ => words.next().unwrap_or_default(),
        };
        let block = Block {
            line: index + 1,
            language,
            attributes: words.collect(),
            text: String::new(),
        };
        open = Some((block, line.len() - trimmed.len(), end));
    }
    assert!(open.is_none(), "a block without its end");
    blocks
}
