//! A card as a file: what mail, chat or a pull request carries to a person who says yes or no.
//!
//! Owns its form. Never renders a card. INVARIANT: a card file that can be read holds a card whose
//! digest is the one it names; the text beside it binds nobody.

use provost_plan::digest::Digest;
use provost_run::card::Card;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::STATEMENT_BYTES_MAX;

/// The schema of a card file.
pub const CARD_SCHEMA: &str = "provost/card/v1";

/// A card, with what a statement about it must name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CardFile {
    schema: String,
    /// The name of the store that the run is in.
    pub store: String,
    /// The card's digest.
    pub digest: Digest,
    /// The card.
    pub card: Card,
    /// The card as it was shown, for who reads the file as it is.
    pub text: String,
}

/// A text that is no card file.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("this is no card: {0}")]
pub struct NoCard(String);

impl CardFile {
    /// The file of a card.
    #[must_use]
    pub fn new(store: &str, card: Card, text: String) -> Self {
        Self {
            schema: CARD_SCHEMA.to_owned(),
            store: store.to_owned(),
            digest: card.digest(),
            card,
            text,
        }
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`NoCard`] if it has what is not known, or its card is not what the digest says.
    pub fn read(text: &str) -> Result<Self, NoCard> {
        if text.len() > STATEMENT_BYTES_MAX {
            return Err(NoCard(format!(
                "it is longer than {STATEMENT_BYTES_MAX} bytes"
            )));
        }
        let value: Value = serde_json::from_str(text).map_err(|error| NoCard(error.to_string()))?;
        let file: Self =
            serde_json::from_value(value.clone()).map_err(|error| NoCard(error.to_string()))?;
        if file.schema != CARD_SCHEMA {
            return Err(NoCard(format!("its schema is `{}`", file.schema)));
        }
        // Why: what this version would drop could not be shown, and might be what matters.
        if serde_json::to_value(&file).ok().as_ref() != Some(&value) {
            return Err(NoCard("it has what this version does not know".to_owned()));
        }
        if file.card.digest() != file.digest {
            return Err(NoCard("its content is not what its digest says".to_owned()));
        }
        Ok(file)
    }

    /// The text of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
