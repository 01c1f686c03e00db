//! A unit of `Type=notify` with a watchdog: what a socket of systemd's is told, over a real one.

use std::os::unix::net::UnixDatagram;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::work::signal;
use super::workplace::Workplace;

/// What systemd hears of one process.
struct Systemd {
    socket: UnixDatagram,
    child: Child,
}

impl Systemd {
    /// Starts a command as a unit would, with a watchdog of 200 ms.
    fn starts(place: &Workplace, words: &[&str]) -> Self {
        let path = place.path("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let child = place
            .command(words)
            .env("NOTIFY_SOCKET", &path)
            .env("WATCHDOG_USEC", "200000")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { socket, child }
    }

    /// The next word, if one comes in time.
    fn hears(&self, within: Duration) -> Option<String> {
        self.socket.set_read_timeout(Some(within)).unwrap();
        let mut buffer = [0; 100];
        let length = self.socket.recv(&mut buffer).ok()?;
        Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
    }

    fn is_ready_and_alive(&self) {
        let long = Duration::from_secs(20);
        let ready = format!("READY=1\nMAINPID={}", self.child.id());
        assert_eq!(self.hears(long).as_deref(), Some(ready.as_str()));
        for _ in 0..3 {
            assert_eq!(self.hears(long).as_deref(), Some("WATCHDOG=1"));
        }
    }

    fn ends(mut self) {
        signal(&self.child, "-TERM");
        let mut words = std::iter::from_fn(|| self.hears(Duration::from_secs(20)));
        assert!(words.any(|word| word == "STOPPING=1"));
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_worker_says_that_it_is_ready_alive_and_stopping() {
    let place = Workplace::new();
    let unit = Systemd::starts(&place, &["work", "--json"]);
    unit.is_ready_and_alive();
    // The control: a process that stands still gives no sign of life.
    signal(&unit.child, "-STOP");
    while unit.hears(Duration::from_millis(400)).is_some() {}
    signal(&unit.child, "-CONT");
    assert_eq!(
        unit.hears(Duration::from_secs(20)).as_deref(),
        Some("WATCHDOG=1")
    );
    unit.ends();
}

#[test]
fn a_server_says_that_it_is_ready_alive_and_stopping() {
    let place = Workplace::new();
    let unit = Systemd::starts(&place, &["serve", "--listen", "127.0.0.1:0"]);
    unit.is_ready_and_alive();
    unit.ends();
}

#[test]
fn a_socket_that_nobody_reads_is_said_and_keeps_nothing_from_going_on() {
    let place = Workplace::new();
    let mut command = place.command(&["work", "--until-idle"]);
    command.env("NOTIFY_SOCKET", place.path("nobody"));
    let ran = command.output().unwrap();
    assert_eq!(ran.status.code(), Some(0));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        said.contains("systemd cannot be told `STOPPING=1`"),
        "{said}"
    );
}
