//! Somebody in a browser, as the server meets them: a cookie, pages, and the forms of pages.

use std::fmt::Write as _;

use super::served::{Answer, Served};
use super::workplace::Workplace;

/// A form as a browser sends it.
pub fn form(fields: &[(&str, &str)]) -> String {
    let coded = |text: &str| {
        text.bytes().fold(String::new(), |mut out, byte| {
            match byte {
                byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
                b'\n' => out.push_str("%0D%0A"),
                byte => write!(out, "%{byte:02X}").unwrap(),
            }
            out
        })
    };
    let pairs = fields.iter();
    let pairs = pairs.map(|(name, value)| format!("{}={}", coded(name), coded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Somebody in a browser.
pub struct Browser<'s> {
    pub server: &'s Served,
    pub cookie: String,
}

impl<'s> Browser<'s> {
    /// Somebody of the team, signed in by a link of their own.
    pub fn of(server: &'s Served, place: &Workplace, who: &str) -> Self {
        let cookie = server.invited(place, who);
        Self { server, cookie }
    }

    pub fn open(&self, path: &str) -> Answer {
        let heads = [
            ("Host", self.server.host.as_str()),
            ("Cookie", self.cookie.as_str()),
        ];
        self.server.send(&format!("GET {path}"), &heads, "")
    }

    pub fn send(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let heads = [
            ("Host", self.server.host.as_str()),
            ("Cookie", self.cookie.as_str()),
            ("Sec-Fetch-Site", "same-origin"),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ];
        self.server
            .send(&format!("POST {path}"), &heads, &form(fields))
    }
}

/// The text of an element of a page, as a browser reads it.
pub fn text_of(page: &str, before: &str) -> String {
    let text = page
        .split(before)
        .nth(1)
        .unwrap_or_else(|| panic!("{page}"));
    let text = text.split_once('>').unwrap().1.split('<').next().unwrap();
    let known = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#38;", "&"),
        ("&amp;", "&"),
    ];
    known
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The fields of a form of a page: of the one whose beginning stands there.
#[track_caller]
pub fn fields_of(page: &str, beginning: &str) -> Vec<(String, String)> {
    let form = page
        .split("<form")
        .find(|form| form.contains(beginning))
        .unwrap_or_else(|| panic!("no `{beginning}`: {page}"));
    let form = form.split("</form>").next().unwrap();
    let value = |tag: &str, name: &str| {
        let rest = tag.split(&format!("{name}=\"")).nth(1)?;
        Some(rest.split('"').next().unwrap().to_owned())
    };
    let hidden = form.split("<input type=\"hidden\"").skip(1);
    let hidden = hidden.map(|tag| tag.split('>').next().unwrap());
    hidden
        .map(|tag| (value(tag, "name").unwrap(), value(tag, "value").unwrap()))
        .collect()
}
