//! An approval card on the terminal.
//!
//! Owns the look of its lines; what they say is the run machine's reading of the card. INVARIANT: a
//! card that does not fit its content is withheld.

use provost_engine::run::card::Card;
use provost_engine::run::read::card::{ArgumentOrigin, CardLine, CardPart, CardView};
use provost_plan::digest::Digest;

use super::page::{Page, TextStyle};

/// Beside what stands below a field.
const BELOW: &str = "               ";

/// The card, or a word on why it is withheld.
pub fn page(digest: &Digest, card: &Card) -> Page {
    let mut page = Page::new();
    let Some(view) = CardView::of(digest, card) else {
        page.bad("a card is withheld: its content is not what its digest says")
            .end();
        return page;
    };
    page.put(TextStyle::Warn, &view.question).end();
    for line in &view.lines {
        put(&mut page, line);
    }
    page
}

fn put(page: &mut Page, line: &CardLine) {
    match line {
        CardLine::Field {
            about: CardPart::Solo,
            name,
            text,
        } => {
            page.put(TextStyle::Warn, &format!("  {name:<10} "))
                .line(text);
        }
        CardLine::Field { name, text, .. } => {
            page.field(name, text);
        }
        CardLine::Argument { name, value, from } => {
            page.faint("  argument   ")
                .strong(name)
                .text(&format!(": {value}"));
            match from {
                Some(ArgumentOrigin::Found(place)) => {
                    page.faint(&format!("  (from {place})"));
                }
                Some(ArgumentOrigin::Untrusted(worth)) => {
                    page.put(TextStyle::Warn, &format!("  ({worth})"));
                }
                None => {}
            }
            page.end();
        }
        CardLine::Read { name, value } => {
            page.text(BELOW);
            match name {
                Some(name) => page.strong(name).line(&format!(": {value}")),
                None => page.line(value),
            };
        }
        CardLine::OfPreview { word, text } => {
            page.put(TextStyle::Warn, &format!("{BELOW}{word}: "))
                .line(text);
        }
        CardLine::LookTwice { text, grave } => {
            let look = match grave {
                true => TextStyle::Bad,
                false => TextStyle::Warn,
            };
            page.put(look, "  look twice ").line(text);
        }
    }
}
