//! The server of a workspace, as browsers and programs meet it: the real binary over real sockets.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod amended;
mod answers;
mod browser;
#[cfg(target_os = "linux")]
mod clock;
mod closed;
mod crowd;
#[cfg(target_os = "linux")]
mod days;
mod desk;
mod doors;
mod ending;
mod figures;
mod forged;
mod hostile;
mod http2;
mod in_flight;
mod kill;
mod logins;
mod oidc;
mod planning;
mod provider;
mod python_client;
mod reread;
mod resumed;
mod rights;
mod roles;
mod served;
mod steps;
mod stream;
mod team;
mod tls;
mod vouched;
#[path = "../cli/workplace.rs"]
#[expect(dead_code, reason = "made for the tests of the command line")]
mod workplace;
