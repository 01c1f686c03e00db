//! What systemd is told of a process that drives runs: ready, alive, stopping.
//!
//! Owns `$NOTIFY_SOCKET` and `$WATCHDOG_USEC`. Without them it does nothing. INVARIANT: a sign of
//! life is given by the thread that drives runs, between two of its steps, so a driver that hangs
//! gives none.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::output;

/// How often one looks up where no sign of life is asked for.
const IDLE: Duration = Duration::from_secs(3600);

/// The socket of who watches over this process.
struct Supervisor {
    socket: UnixDatagram,
    address: OsString,
    /// How often it wants a sign of life.
    beats: Option<Duration>,
}

/// Does `work`, and tells systemd if it started this process.
pub async fn supervised<T>(work: impl Future<Output = T>, halt: watch::Receiver<bool>) -> T {
    match Supervisor::of_environment() {
        Ok(Some(supervisor)) => supervisor.watch(work, halt).await,
        Ok(None) => work.await,
        Err(error) => {
            output::note(&format!(
                "systemd cannot be told of this process: {error}\n"
            ));
            work.await
        }
    }
}

impl Supervisor {
    fn of_environment() -> io::Result<Option<Self>> {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let Some(address) = var("NOTIFY_SOCKET") else {
            return Ok(None);
        };
        let text = |name: &str| var(name)?.into_string().ok();
        let pid = text("WATCHDOG_PID").and_then(|pid| pid.parse::<u32>().ok());
        let ours = pid.is_none_or(|pid| pid == std::process::id());
        let limit = text("WATCHDOG_USEC").and_then(|time| time.parse::<u64>().ok());
        // Why a half: systemd counts from the last sign that came, and one may be late.
        let beats = limit.filter(|time| ours && *time > 1);
        let beats = beats.map(|time| Duration::from_micros(time / 2));
        Self::new(address, beats).map(Some)
    }

    fn new(address: OsString, beats: Option<Duration>) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        // Why: a full socket must not hold up a run.
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            address,
            beats,
        })
    }

    async fn watch<T>(self, work: impl Future<Output = T>, mut halt: watch::Receiver<bool>) -> T {
        let mut work = pin!(work);
        let mut beats = interval(self.beats.unwrap_or(IDLE));
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut is_ready, mut is_stopping) = (false, false);
        loop {
            tokio::select! {
                // Why in this order: ready is who has looked at all runs once.
                biased;
                done = &mut work => {
                    if !is_stopping {
                        self.tell("STOPPING=1");
                    }
                    return done;
                }
                _ = beats.tick() => {
                    if !is_ready {
                        self.tell(&format!("READY=1\nMAINPID={}", std::process::id()));
                        is_ready = true;
                    }
                    if self.beats.is_some() {
                        self.tell("WATCHDOG=1");
                    }
                }
                _ = halt.wait_for(|halted| *halted), if !is_stopping => {
                    is_stopping = true;
                    self.tell("STOPPING=1");
                }
            }
        }
    }

    /// Why the failure is said and no more: runs go on without anybody who watches.
    fn tell(&self, words: &str) {
        if let Err(error) = self.send(words.as_bytes()) {
            output::note(&format!("systemd cannot be told `{words}`: {error}\n"));
        }
    }

    fn send(&self, words: &[u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        {
            use std::os::linux::net::SocketAddrExt as _;
            use std::os::unix::ffi::OsStrExt as _;
            use std::os::unix::net::SocketAddr;
            // Why: `@` stands for the byte nought that begins the name of an abstract socket.
            if let Some(name) = self.address.as_bytes().strip_prefix(b"@") {
                let address = SocketAddr::from_abstract_name(name)?;
                return self.socket.send_to_addr(words, &address);
            }
        }
        self.socket.send_to(words, Path::new(&self.address))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::mpsc;

    use super::*;

    /// A driver whose thread hangs is not said to be alive: this is what the watchdog is for.
    #[test]
    fn a_driver_that_hangs_gives_no_sign_of_life() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let systemd = UnixDatagram::bind(&path).unwrap();
        let (free, hang) = mpsc::channel::<()>();
        let (_halt, halted) = watch::channel(false);
        let address = path.into_os_string();
        let driver = std::thread::spawn(move || {
            let beats = Some(Duration::from_millis(20));
            let supervisor = Supervisor::new(address, beats).unwrap();
            let work = async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                hang.recv().unwrap();
            };
            let runtime = tokio::runtime::Builder::new_multi_thread();
            let runtime = { runtime }.worker_threads(1).enable_all().build().unwrap();
            runtime.block_on(supervisor.watch(work, halted));
        });
        let mut buffer = [0; 100];
        let mut told = || {
            let length = systemd.recv(&mut buffer)?;
            io::Result::Ok(String::from_utf8_lossy(buffer.get(..length).unwrap()).into_owned())
        };
        assert!(told().unwrap().starts_with("READY=1\n"));
        assert_eq!(told().unwrap(), "WATCHDOG=1");
        // Until it hangs, signs come; then none does within ten times their interval.
        systemd
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        while told().is_ok() {}
        free.send(()).unwrap();
        driver.join().unwrap();
    }
}
