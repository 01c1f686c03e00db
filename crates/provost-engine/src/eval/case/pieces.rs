//! A text as what may name somebody: mail addresses, long numbers, words; and the rest.
//!
//! Owns where each begins and ends. Replaces nothing. INVARIANT: the pieces of a text, one behind
//! the other, are the text; a date or a moment is never part of a number or a word.

/// Fewest digits in a row that are a long number.
const ROW_MIN: usize = 7;
/// Fewest digits in groups, as phone numbers and cards are written.
const GROUPS_MIN: usize = 9;

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextPiece<'t> {
    /// A mail address.
    Mail { local: &'t str, domain: &'t str },
    /// `@` and the domain of mail addresses, as policies name one.
    Domain(&'t str),
    /// A long number, in one row or in groups.
    Digits(&'t str),
    /// Letters and digits, with nothing between them.
    Word(&'t str),
    /// What names nobody.
    Other(&'t str),
}

impl TextPiece<'_> {
    /// How many bytes of the text it is.
    fn length(self) -> usize {
        match self {
            Self::Mail { local, domain } => local.len() + 1 + domain.len(),
            Self::Domain(domain) => 1 + domain.len(),
            Self::Digits(part) | Self::Word(part) | Self::Other(part) => part.len(),
        }
    }
}

/// The pieces of a text, in their order.
pub(super) fn pieces(text: &str) -> Vec<TextPiece<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(piece) = next(rest) {
        found.push(piece);
        rest = rest.get(piece.length()..).unwrap_or_default();
    }
    found
}

/// The piece with which a text begins; none of an empty one.
fn next(rest: &str) -> Option<TextPiece<'_>> {
    let first = rest.chars().next()?;
    if let Some((local, domain)) = mail(rest) {
        return Some(TextPiece::Mail { local, domain });
    }
    if first == '@' {
        let behind = rest.get(1..)?;
        return Some(match domain(behind) {
            Some(domain) => TextPiece::Domain(domain),
            None => TextPiece::Other(rest.get(..1)?),
        });
    }
    if let Some(length) = moment(rest) {
        return rest.get(..length).map(TextPiece::Other);
    }
    if let Some(length) = long(rest) {
        return rest.get(..length).map(TextPiece::Digits);
    }
    if first.is_alphanumeric() {
        let length = run(rest, char::is_alphanumeric);
        return rest.get(..length).map(TextPiece::Word);
    }
    let between = |letter: char| !letter.is_alphanumeric() && letter != '@';
    rest.get(..run(rest, between)).map(TextPiece::Other)
}

/// How many bytes at the beginning of a text are such characters.
fn run(text: &str, is_one: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !is_one(letter)).unwrap_or(text.len())
}

fn mail(text: &str) -> Option<(&str, &str)> {
    let length = run(text, |letter| {
        letter.is_alphanumeric() || "._%+-".contains(letter)
    });
    let (local, rest) = text.split_at_checked(length)?;
    let is_name = local.starts_with(char::is_alphanumeric);
    let domain = domain(rest.strip_prefix('@')?)?;
    is_name.then_some((local, domain))
}

fn domain(text: &str) -> Option<&str> {
    let length = run(text, |letter| {
        letter.is_alphanumeric() || letter == '.' || letter == '-'
    });
    let name = text.get(..length)?.trim_end_matches(['.', '-']);
    let (before, last) = name.rsplit_once('.')?;
    let is_one = before.starts_with(char::is_alphanumeric)
        && last.chars().count() >= 2
        && last.chars().all(char::is_alphabetic);
    is_one.then_some(name)
}

/// `2026-11-27`, and a time of day behind it.
fn moment(text: &str) -> Option<usize> {
    let date = shaped(text, "0000-00-00")?;
    let rest = text.get(date..)?;
    let time = ["T00:00", "t00:00", " 00:00"]
        .iter()
        .find_map(|shape| shaped_open(rest, shape));
    let Some(time) = time else {
        return Some(date);
    };
    let seconds = run(rest.get(time..)?, |c| {
        c.is_ascii_digit() || ":.".contains(c)
    });
    let so_far = date + time + seconds;
    let rest = text.get(so_far..)?;
    let zone = ["Z", "z", "+00:00", "-00:00", "+0000", "-0000"]
        .iter()
        .find_map(|shape| shaped(rest, shape));
    Some(so_far + zone.unwrap_or(0))
}

/// The length of a shape at the beginning of a text, `0` being any digit, if nothing that belongs
/// to it follows.
fn shaped(text: &str, shape: &str) -> Option<usize> {
    let length = shaped_open(text, shape)?;
    let rest = text.get(length..)?;
    (!rest.starts_with(|letter: char| letter.is_ascii_digit())).then_some(length)
}

fn shaped_open(text: &str, shape: &str) -> Option<usize> {
    let mut letters = text.chars();
    let fits = shape.chars().all(|wanted| match letters.next() {
        Some(found) if wanted == '0' => found.is_ascii_digit(),
        found => found == Some(wanted),
    });
    fits.then_some(shape.len())
}

/// Digits in a row, or in groups with a space or `-` between them.
fn long(text: &str) -> Option<usize> {
    let (mut end, mut digits, mut longest) = (0, 0, 0);
    loop {
        let rest = text.get(end..)?;
        let separator = usize::from(end > 0 && rest.starts_with([' ', '-']));
        let group = rest.get(separator..)?;
        let length = run(group, |letter| letter.is_ascii_digit());
        let is_word = group
            .get(length..)
            .is_some_and(|after| after.starts_with(char::is_alphanumeric));
        let goes_on = end == 0 || (separator == 1 && moment(group).is_none());
        if length == 0 || is_word || !goes_on {
            break;
        }
        end += separator + length;
        digits += length;
        longest = longest.max(length);
    }
    (longest >= ROW_MIN || digits >= GROUPS_MIN).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let one = |piece: TextPiece<'_>| match piece {
            TextPiece::Mail { local, domain } => format!("<{local}@{domain}>"),
            TextPiece::Domain(domain) => format!("<@{domain}>"),
            TextPiece::Digits(digits) => format!("#{digits}#"),
            TextPiece::Word(word) => format!("[{word}]"),
            TextPiece::Other(other) => other.to_owned(),
        };
        pieces(text).into_iter().map(one).collect()
    }

    #[test]
    fn each_piece_is_found_where_it_stands() {
        for (text, wanted) in [
            ("", ""),
            (
                "mail ada.m+x@shop.example, now",
                "[mail] <ada.m+x@shop.example>, [now]",
            ),
            ("<ada@shop.example>.", "<<ada@shop.example>>."),
            ("like \"*@shop.example\"", "[like] \"*<@shop.example>\""),
            ("a@b and @ 5", "[a]@[b] [and] @ [5]"),
            ("4111 1111 1111 1111", "#4111 1111 1111 1111#"),
            ("call 030-1234567 today", "[call] #030-1234567# [today]"),
            ("2000 cents of pay-1", "[2000] [cents] [of] [pay]-[1]"),
            ("1234567 and 123456", "#1234567# [and] [123456]"),
            ("12345678a", "[12345678a]"),
            ("on 2026-11-27, 20261127", "[on] 2026-11-27, #20261127#"),
            ("2026-11-27T12:00:00.5Z x", "2026-11-27T12:00:00.5Z [x]"),
            ("2026-11-27 12:00+01:00", "2026-11-27 12:00+01:00"),
            ("4711 2026-11-27", "[4711] 2026-11-27"),
            ("Zoë_Kühn", "[Zoë]_[Kühn]"),
            (
                "DE89 3704 0044 0532 0130 00",
                "[DE89] #3704 0044 0532 0130 00#",
            ),
        ] {
            assert_eq!(told(text), wanted, "{text}");
        }
    }
}
