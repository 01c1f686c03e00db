//! A page: text with styles, ready to be written.
//!
//! Owns escaping and layout. INVARIANT: every text put on a page is escaped here; the only
//! exception is what `provost-plan` has drawn and escaped itself.

use anstyle::{AnsiColor, Style};
use provost_engine::run::read::words::Tone;
use provost_plan::render::escape;
use unicode_width::UnicodeWidthStr as _;

/// Fewest columns that the last column of a table keeps, however narrow the screen is.
const LAST_COLUMN_MIN: usize = 16;

/// Behind what a word may be broken that is longer than a line.
const PUNCTUATION: [char; 9] = ['.', ',', '(', '[', '/', '_', '-', '=', ' '];

/// Text with styles.
#[derive(Debug, Default)]
pub struct Page {
    out: String,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextStyle {
    /// As it is.
    #[default]
    Plain,
    /// Stands out.
    Strong,
    /// Stands back.
    Faint,
    /// Went well.
    Good,
    /// Went wrong.
    Bad,
    /// Wants attention.
    Warn,
}

impl From<Tone> for TextStyle {
    fn from(tone: Tone) -> Self {
        match tone {
            Tone::Neutral => Self::Plain,
            Tone::Good => Self::Good,
            Tone::Bad => Self::Bad,
            Tone::Attention => Self::Warn,
        }
    }
}

impl TextStyle {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Warn => AnsiColor::Yellow.on_default(),
        }
    }
}

impl Page {
    /// An empty page.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts text with a look.
    pub fn put(&mut self, look: TextStyle, text: &str) -> &mut Self {
        let style = look.style();
        self.out
            .push_str(&format!("{style}{}{style:#}", escape(text)));
        self
    }

    /// Puts plain text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.put(TextStyle::Plain, text)
    }

    /// Puts text that stands out.
    pub fn strong(&mut self, text: &str) -> &mut Self {
        self.put(TextStyle::Strong, text)
    }

    /// Puts text that stands back.
    pub fn faint(&mut self, text: &str) -> &mut Self {
        self.put(TextStyle::Faint, text)
    }

    /// Puts text about something wrong.
    pub fn bad(&mut self, text: &str) -> &mut Self {
        self.put(TextStyle::Bad, text)
    }

    /// Ends the line.
    pub fn end(&mut self) -> &mut Self {
        self.out.push('\n');
        self
    }

    /// Puts a plain line.
    pub fn line(&mut self, text: &str) -> &mut Self {
        self.text(text).end()
    }

    /// Puts text that may have several lines; all but the first are indented.
    pub fn lines(&mut self, text: &str, indent: usize) -> &mut Self {
        for (number, line) in text.trim_end().lines().enumerate() {
            if number > 0 {
                self.out.push_str(&" ".repeat(indent));
            }
            self.line(line);
        }
        self
    }

    /// Puts a name and what it is, in two columns.
    pub fn field(&mut self, name: &str, text: &str) -> &mut Self {
        self.faint(&format!("  {name:<10} ")).line(text)
    }

    /// Puts a name and what it is, in two columns; words that do not fit stand below one another.
    pub fn wrapped(&mut self, name: &str, text: &str, width: usize) -> &mut Self {
        self.hanging(&format!("  {name:<10} "), text, width)
    }

    /// Puts a text behind a lead, broken at spaces; all but the first line are indented alike.
    pub fn hanging(&mut self, lead: &str, text: &str, width: usize) -> &mut Self {
        self.faint(lead).rest(lead.width(), text, None, width)
    }

    /// Puts the rest of a line that has come to `column`, broken at spaces, and a remark behind it
    /// where that fits; all but the first line are indented to the column.
    pub fn rest(
        &mut self,
        column: usize,
        text: &str,
        remark: Option<(TextStyle, &str)>,
        width: usize,
    ) -> &mut Self {
        let columns = width.saturating_sub(column);
        let indent = " ".repeat(column);
        let lines = wrap(text, columns);
        for (number, line) in lines.iter().enumerate() {
            if number > 0 {
                self.out.push('\n');
                self.out.push_str(&indent);
            }
            self.text(line);
        }
        if let Some((look, remark)) = remark {
            let used = lines.last().map_or(0, |line| escape(line).width() + 2);
            if used + escape(remark).width() <= columns {
                self.text(if used > 0 { "  " } else { "" })
                    .put(look, remark);
            } else {
                for line in wrap(remark, columns) {
                    self.out.push('\n');
                    self.out.push_str(&indent);
                    self.put(look, &line);
                }
            }
        }
        self.end()
    }

    /// Puts a paragraph, broken at spaces.
    pub fn wrapped_line(&mut self, text: &str, width: usize) -> &mut Self {
        let lines = wrap(text, width);
        for line in &lines {
            self.line(line);
        }
        if lines.is_empty() {
            self.end();
        }
        self
    }

    /// Puts the rows of a table, its columns aligned, each line cut to a width.
    pub fn table_within(&mut self, indent: usize, rows: &[Vec<Cell>], width: usize) -> &mut Self {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(Cell::width).max().unwrap_or(0)
        };
        let before: usize = (0..columns.saturating_sub(1)).map(|c| widest(c) + 2).sum();
        let left = width.saturating_sub(indent + before).max(LAST_COLUMN_MIN);
        let cut = |row: &Vec<Cell>| {
            let last = |at: usize| at + 1 == columns;
            let cells = row.iter().enumerate().map(|(at, cell)| match last(at) {
                true => Cell::new(cell.look, shortened(&cell.text, left)),
                false => cell.clone(),
            });
            cells.collect()
        };
        let rows: Vec<Vec<Cell>> = rows.iter().map(cut).collect();
        self.table(indent, &rows)
    }

    /// Puts the rows of a table, its columns aligned.
    pub fn table(&mut self, indent: usize, rows: &[Vec<Cell>]) -> &mut Self {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width_of = |column: usize| {
            // Why not the last one: nothing stands after it.
            let cells = rows.iter().filter(|row| row.len() > column + 1);
            cells
                .filter_map(|row| row.get(column))
                .map(Cell::width)
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width_of).collect();
        for row in rows {
            self.out.push_str(&" ".repeat(indent));
            for (column, cell) in row.iter().enumerate() {
                self.put(cell.look, &cell.text);
                let last = row.iter().skip(column + 1).all(|cell| cell.text.is_empty());
                if last {
                    break;
                }
                let pad = widths
                    .get(column)
                    .copied()
                    .unwrap_or(0)
                    .saturating_sub(cell.width());
                self.out.push_str(&" ".repeat(pad + 2));
            }
            self.end();
        }
        self
    }

    /// Puts findings drawn by `provost-plan`, which escapes what it draws.
    pub fn drawn(&mut self, findings: &str) -> &mut Self {
        self.out.push_str(findings);
        self
    }

    /// Puts another page.
    pub fn page(&mut self, other: Self) -> &mut Self {
        let Self { out } = other;
        self.out.push_str(&out);
        self
    }

    /// Whether nothing was put.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// The text, with styles.
    pub fn finish(self) -> String {
        self.out
    }
}

/// A field of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    look: TextStyle,
    text: String,
}

impl Cell {
    /// A field.
    pub fn new(look: TextStyle, text: impl Into<String>) -> Self {
        Self {
            look,
            text: text.into(),
        }
    }

    /// A plain field.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(TextStyle::Plain, text)
    }

    fn width(&self) -> usize {
        escape(&self.text).width()
    }
}

/// Breaks a text at spaces into lines of a width, and a longer word behind its punctuation; no
/// character but the space at a break is left out. The marks of an expression stay beside it.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for piece in text.split_inclusive(' ') {
        match pieces.last_mut() {
            Some(last) if last.ends_with("${ ") || piece.starts_with('}') => last.push_str(piece),
            _ => pieces.push(piece.to_owned()),
        }
    }
    let fits = |piece: &String| escape(piece.trim_end_matches(' ')).width() <= columns;
    let broken = pieces.into_iter().flat_map(|piece| match fits(&piece) {
        true => vec![piece],
        false => piece
            .split_inclusive(PUNCTUATION)
            .map(str::to_owned)
            .collect(),
    });
    let pieces: Vec<String> = broken.collect();
    let mut lines: Vec<String> = Vec::new();
    for piece in &pieces {
        let width = escape(piece.trim_end_matches(' ')).width();
        match lines.last_mut() {
            Some(line) if escape(line).width() + width <= columns => line.push_str(piece),
            _ => lines.push(piece.clone()),
        }
    }
    for line in &mut lines {
        if line.ends_with(' ') {
            line.pop();
        }
    }
    lines
}

/// Text that will be escaped, cut to what takes up a width then.
fn shortened(text: &str, columns: usize) -> String {
    if escape(text).width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut width = 1;
    for c in text.chars() {
        width += escape(c.encode_utf8(&mut [0; 4])).width();
        if width > columns {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// A text on one line, cut between two words to what takes up a width once it is escaped.
pub fn cut_at_word(text: &str, columns: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if escape(&text).width() <= columns {
        return text;
    }
    let lines = wrap(&text, columns.saturating_sub(2));
    let first = lines.first().map_or("", String::as_str).trim_end();
    if escape(first).width() + 2 > columns {
        return "…".to_owned();
    }
    format!("{first} …")
}

/// Cuts escaped text to a width on the screen.
pub fn cut(text: &str, columns: usize) -> String {
    let text = escape(text);
    if text.width() <= columns {
        return text.into_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if kept.width() + 2 > columns {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(page: Page) -> String {
        anstream::adapter::strip_str(&page.finish()).to_string()
    }

    #[test]
    fn nothing_raw_gets_onto_a_page() {
        let nasty = "a\u{1b}[31mred\u{202e}\r\nb\u{7}";
        let mut page = Page::new();
        page.line(nasty)
            .bad(nasty)
            .end()
            .lines(nasty, 2)
            .field(nasty, nasty);
        page.table(
            1,
            &[vec![Cell::plain(nasty), Cell::new(TextStyle::Bad, nasty)]],
        );
        let text = page.finish();
        for (raw, why) in [
            ("\u{1b}[31mred", "an escape sequence"),
            ("\u{202e}", "a mark of direction"),
            ("\r", "a carriage return"),
            ("\u{7}", "a bell"),
        ] {
            assert!(!text.contains(raw), "{why}");
        }
        // The control: the page's own styles do reach the terminal.
        assert!(text.contains("\u{1b}[1m"), "{text:?}");
    }

    #[test]
    fn tables_are_aligned_by_what_is_seen() {
        let mut page = Page::new();
        let row = |a: &str, b: &str, c: &str| vec![Cell::plain(a), Cell::plain(b), Cell::plain(c)];
        page.table(
            2,
            &[
                row("a", "日本", "x"),
                row("long", "b", "y"),
                row("c", "", ""),
            ],
        );
        insta::assert_snapshot!(shown(page), @r"
          a     日本  x
          long  b     y
          c
        ");
    }

    #[test]
    fn what_is_too_wide_is_broken_or_cut() {
        let mut page = Page::new();
        page.wrapped("goal", "find all that is late and tell\u{7} them", 30);
        let row = |a: &str, b: &str| vec![Cell::plain(a), Cell::plain(b)];
        page.table_within(
            2,
            &[
                row("long", "日本語 and more than fits in it"),
                row("b", "x"),
            ],
            28,
        );
        insta::assert_snapshot!(shown(page), @r"
        goal       find all that is
                   late and
                   tell\u{7} them
        long  日本語 and more tha…
        b     x
        ");
    }

    #[test]
    fn text_is_cut_to_what_fits() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("a\u{1b}b", 20), "a\\u{1b}b");
    }
}
