//! People: what they state about runs, how it is signed, and whether a journal records it truly.
//!
//! Owns the envelope of a statement, the file of a card, and the one judgment whether a statement
//! counts: for what arrives ([`Inbox::verify`]) and for what a journal has recorded
//! ([`Inbox::verify_event`]). Decides nothing about a run. INVARIANT: both judgments hold a
//! statement to its credential by the same function.

mod card_file;
mod envelope;
mod inbox;
mod rights;
mod verify_event;
pub(crate) mod verify_journal;

pub use provost_run::statement::{Credential, PlanText, Statement, StatementVia, Voucher};

pub use card_file::{CARD_SCHEMA, CardFile, NoCard};
pub use envelope::{
    MalformedStatement, STATEMENT_SCHEMA, Signature, StatementEnvelope, StatementSubject,
};
pub use inbox::{Inbox, RequiredCredential, StatementError};
pub use rights::RightsArchive;
pub use verify_event::{EventRejection, InvalidEvent, JournalError};
pub use verify_journal::{JournalStatements, JournalStatementsError};
