//! What a model costs.
//!
//! Owns prices and what they make of counted tokens. Never guesses one. INVARIANT: what was kept
//! is not counted twice.

use std::path::Path;

use provost_plan::money::Money;

use super::{ModelClient, ModelClientError, ModelSettings, ModelUsage};

/// What a million tokens cost, in the currency of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// The price of tokens that are sent.
    pub input: Money,
    /// The price of tokens that are received.
    pub output: Money,
    /// Sent, and kept by the server from an earlier request.
    pub cached: Money,
}

impl Prices {
    /// What a request and its answer cost.
    #[must_use]
    pub fn of(&self, usage: &ModelUsage) -> Money {
        let cached = usage.cached.min(usage.input);
        [
            self.input.per_million(usage.input - cached),
            self.cached.per_million(cached),
            self.output.per_million(usage.output),
        ]
        .into_iter()
        .sum()
    }
}

/// One entry of `[models]`: how to ask the model, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// How it is reached and asked.
    pub settings: ModelSettings,
    /// What it costs, if the operator says.
    pub prices: Option<Prices>,
}

impl ModelConfig {
    /// A client for it; a key in a file lies below `root`.
    ///
    /// # Errors
    /// [`ModelClientError`] if it does not start.
    pub fn client(&self, root: &Path) -> Result<ModelClient, ModelClientError> {
        ModelClient::new(self.settings.clone(), root)
    }
}
