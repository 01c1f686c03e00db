//! A region at the end of the terminal that is drawn over and over.
//!
//! Owns going back over what was drawn. Knows nothing of what it shows. INVARIANT: what is drawn
//! is taken back before anything else is written; only what is left stays.

use unicode_width::UnicodeWidthStr as _;

use super::page::Page;
use crate::output;

/// The window that a region is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its width.
    pub columns: usize,
    /// Its height.
    pub lines: usize,
}

impl Window {
    /// The window of the terminal that messages go to.
    pub fn of_notes() -> Self {
        let size = terminal_size::terminal_size_of(std::io::stderr());
        let (columns, lines) = size.map_or((80, 24), |(width, height)| (width.0, height.0));
        Self {
            columns: columns.into(),
            lines: lines.into(),
        }
    }
}

/// What is drawn at the end of the terminal.
#[derive(Debug, Default)]
pub struct Region {
    drawn: String,
}

impl Region {
    /// Draws a page in place of what is drawn, and leaves another one above it.
    pub fn draw(&mut self, above: Page, page: Page) {
        let page = page.finish();
        // Why: a terminal that is written to for nothing flickers.
        if above.is_empty() && page == self.drawn {
            return;
        }
        self.replace(&above.finish(), page);
    }

    /// Takes back what is drawn, and leaves a page in its place.
    pub fn leave(&mut self, page: Page) {
        self.replace(&page.finish(), String::new());
    }

    fn replace(&mut self, above: &str, page: String) {
        let window = Window::of_notes();
        // Why no further: what a lower window pushed out of sight cannot be taken back.
        let back = lines_in(&self.drawn, window.columns).min(window.lines.saturating_sub(1));
        let mut out = match back {
            0 => "\r".to_owned(),
            back => format!("\r\u{1b}[{back}A"),
        };
        if !above.is_empty() {
            out += "\u{1b}[J";
            out += &output::styled(above);
        }
        // Why no wrapping meanwhile: a wrapped line would be one more to go back. Why line by line:
        // some terminals keep a copy of a screen that is erased whole.
        out += "\u{1b}[?7l";
        for line in output::styled(&page).lines() {
            out += &format!("\u{1b}[K{line}\n");
        }
        out += "\u{1b}[?7h\u{1b}[J";
        output::control(&out);
        self.drawn = page;
    }
}

/// How many lines of a window a text takes up: one that was drawn in a wider window is wrapped by
/// the terminal when the window becomes narrower.
fn lines_in(drawn: &str, columns: usize) -> usize {
    let plain = anstream::adapter::strip_str(drawn).to_string();
    let lines = plain.lines();
    lines
        .map(|line| line.width().div_ceil(columns.max(1)).max(1))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_a_narrower_window_wraps_is_several() {
        let drawn = "\u{1b}[1m12345\u{1b}[0m\n\n日本日本\n";
        assert_eq!(lines_in(drawn, 8), 3);
        assert_eq!(lines_in(drawn, 5), 4);
        assert_eq!(lines_in(drawn, 3), 6);
    }
}
