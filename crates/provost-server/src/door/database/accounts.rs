//! Logins under way, and which account of a provider is whose.
//!
//! Owns both tables. INVARIANT: a login is taken back once, and neither a name nor an account
//! belongs to two.

use provost_engine::clock::now_ms;
use rusqlite::{OptionalExtension as _, params};

use super::{Database, DatabaseError};
use crate::door::oidc::LoginAccount;
use crate::limits::LOGINS_UNDER_WAY_MAX;

impl Database {
    /// Notes that a browser was sent to the provider: digests of the state and of its cookie.
    ///
    /// # Errors
    /// [`DatabaseError::Logins`] if too many are under way.
    pub(crate) fn expect_login(
        &self,
        [state, browser]: [String; 2],
        ends_ms: i64,
    ) -> Result<(), DatabaseError> {
        let connection = self.lock();
        connection.execute("DELETE FROM logins WHERE ends_ms < ?1", [now_ms()])?;
        let made = connection.execute(
            "INSERT INTO logins SELECT ?1, ?2, ?3 WHERE (SELECT count(*) FROM logins) < ?4",
            params![state, browser, ends_ms, LOGINS_UNDER_WAY_MAX],
        )?;
        if made == 0 {
            return Err(DatabaseError::Logins);
        }
        Ok(())
    }

    /// Takes a login back, once: whether it was begun in this browser and is not too old.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be written.
    pub(crate) fn take_login(&self, [state, browser]: [String; 2]) -> Result<bool, DatabaseError> {
        let taken = self.lock().execute(
            "DELETE FROM logins WHERE state = ?1 AND browser = ?2 AND ends_ms > ?3",
            params![state, browser, now_ms()],
        )?;
        Ok(taken > 0)
    }

    /// Whose an account is.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be read.
    pub(crate) fn person_of(
        &self,
        account: &LoginAccount,
    ) -> Result<Option<String>, DatabaseError> {
        let connection = self.lock();
        let mut query = connection
            .prepare_cached("SELECT person FROM accounts WHERE issuer = ?1 AND subject = ?2")?;
        let values = params![account.issuer, account.subject];
        Ok(query.query_row(values, |row| row.get(0)).optional()?)
    }

    /// Holds a person to an account from now on: whether it is theirs.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be written.
    pub(crate) fn bind_account(
        &self,
        person: &str,
        account: &LoginAccount,
    ) -> Result<bool, DatabaseError> {
        self.lock().execute(
            "INSERT INTO accounts VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            params![account.issuer, account.subject, person],
        )?;
        Ok(self.person_of(account)?.as_deref() == Some(person))
    }

    /// The account of this issuer that a person signs in with.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be read.
    pub(crate) fn account_of(
        &self,
        person: &str,
        issuer: &str,
    ) -> Result<Option<LoginAccount>, DatabaseError> {
        let connection = self.lock();
        let mut query = connection.prepare_cached(
            "SELECT issuer, subject FROM accounts WHERE person = ?1 AND issuer = ?2",
        )?;
        let account = query.query_row([person, issuer], |row| {
            Ok(LoginAccount {
                issuer: row.get(0)?,
                subject: row.get(1)?,
            })
        });
        Ok(account.optional()?)
    }

    /// Forgets which account a person signs in with, and ends the sessions that it began: the next
    /// that bears their name is theirs.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file cannot be written.
    pub fn forget_account(&self, person: &str) -> Result<(), DatabaseError> {
        let mut connection = self.lock();
        let tx = connection.transaction()?;
        tx.execute("DELETE FROM accounts WHERE person = ?1", [person])?;
        tx.execute(
            "DELETE FROM sessions WHERE person = ?1 AND login = 'oidc'",
            [person],
        )?;
        Ok(tx.commit()?)
    }
}
