//! `docs/guides/tools.md` followed to the letter: `scripts/full guide`. Every block of commands down
//! to the server that changes is run as it is printed, with the real server of npm.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::workplace::Ran;

/// The blocks of one language, in order, up to what needs servers of the reader's own.
fn blocks(language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/tools.md");
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("## Servers that need secrets").next().unwrap();
    let fence = format!("```{language} no-run=registry\n");
    let blocks = text.split(&fence).skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

/// A reader at a shell.
struct Reader {
    top: tempfile::TempDir,
    dir: PathBuf,
}

impl Reader {
    /// Types what stands there, and stays in the folder where that ends.
    fn types(&mut self, block: &str) -> Ran {
        let provost = Path::new(env!("CARGO_BIN_EXE_provost")).parent().unwrap();
        let path = format!("{}:{}", provost.display(), std::env::var("PATH").unwrap());
        let end = self.top.path().join("end");
        let output: Output = Command::new("sh")
            .args(["-e", "-c", &format!("{block}\npwd >'{}'", end.display())])
            .current_dir(&self.dir)
            .env("PATH", path)
            .env("XDG_CONFIG_HOME", self.top.path().join("config"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        if let Ok(end) = std::fs::read_to_string(&end) {
            self.dir = end.trim().into();
        }
        let ran = Ran::new(&output, &self.dir);
        println!("$ {block}{ran}");
        ran
    }

    fn config(&self) -> String {
        std::fs::read_to_string(self.dir.join("provost.toml")).unwrap()
    }
}

#[test]
#[ignore = "installs a server of npm: scripts/full guide"]
fn the_guide_holds_word_for_word() {
    let top = tempfile::tempdir().unwrap();
    let dir = top.path().to_owned();
    let mut reader = Reader { top, dir };
    let commands = blocks("sh");
    let [make, add, pin, read, write, approve, settle, diff] = commands.as_slice() else {
        panic!("the guide has other blocks: {commands:#?}");
    };
    reader.types(make).exits(0);
    reader.types(add).exits(0);
    // What it says that was written, as far as it shows it.
    let shown = blocks("toml");
    for line in shown[0].lines() {
        let line = line.trim_end_matches(" …");
        assert!(
            reader.config().contains(line),
            "{line}\n{}",
            reader.config()
        );
    }
    let entry = "[tools.disk.ops.write_file]\n";
    let edited = reader
        .config()
        .replace(entry, &format!("{entry}{}", shown[1]));
    std::fs::write(reader.dir.join("provost.toml"), edited).unwrap();
    let listed = reader.types(pin).exits(0);
    assert!(listed.stdout.contains("disk.write_file"), "{listed}");
    let told = reader.types(read).exits(0);
    assert!(told.stdout.contains("Milk, bread"), "{told}");
    let asked = reader.types(write).exits(3);
    let printed = format!("{} {}", asked.raw_stdout, asked.raw_stderr);
    let after = printed.split("provost approve ").nth(1).unwrap();
    let card = after.split([' ', '\n', '`']).next().unwrap();
    let list = reader.dir.join("shared/list.txt");
    assert_eq!(std::fs::read_to_string(&list).unwrap(), "Milk, bread\n");
    let done = reader.types(&approve.replace("RUN@DIGEST", card)).exits(0);
    assert!(
        done.stdout.ends_with("Milk, bread, eggs\n") || done.stdout.ends_with("Milk, bread, eggs"),
        "{done}"
    );
    // Nothing died, so there is nothing to settle: it says so, and that the verb is as printed.
    let run = card.split('@').next().unwrap();
    reader.types(&settle.replace("RUN", run)).exits(2);
    reader.types(diff).exits(0);
}

/// Without npm: the blocks are where the other test takes them.
#[test]
fn the_guide_is_read_to_its_end() {
    let commands = blocks("sh");
    assert_eq!(commands.len(), 8, "{commands:#?}");
    assert!(commands.iter().all(|block| block.contains("provost ")));
    assert!(commands[4].contains("disk.write_file"));
    assert!(blocks("toml")[1].contains("content = [\"content\"]"));
}
