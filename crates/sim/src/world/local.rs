//! A world inside the calling process, for tests that need no kill.
//!
//! Owns one thread with a runtime of its own. Never outlives its handle. INVARIANT: the address
//! is taken before `start` returns, so a caller may connect at once.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::perform::World;

/// A running world; dropping it stops it.
pub struct Local {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Local {
    /// Starts a world on a free loopback port, its state kept in `state`.
    pub fn start(state: &Path) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let world = World::open(state)?;
        let thread = std::thread::spawn(move || run(listener, world, stopped));
        Ok(Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The base URL, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Why: a failure of the thread has shown itself to the caller as a refused call.
            let _ended = thread.join();
        }
    }
}

fn run(
    listener: std::net::TcpListener,
    world: World,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(async {
            let listener = TcpListener::from_std(listener)?;
            tokio::select! {
                served = super::serve(listener, world) => served,
                _ = stopped => Ok(()),
            }
        })
}
