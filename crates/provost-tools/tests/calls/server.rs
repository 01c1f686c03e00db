//! A real HTTP server on the loopback that does what a test says, faults included.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One request as it arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) line: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }
}

/// What the server does with a request it has read whole.
pub(super) enum Act {
    /// Sends these bytes and closes.
    Send(Vec<u8>),
    /// Sends these bytes and keeps the connection open without a word.
    Hang(Vec<u8>),
    /// Closes at once.
    Drop,
}

/// An answer with a status, further header lines and a body.
pub(super) fn answer(status: u16, headers: &str, body: &str) -> Act {
    let length = body.len();
    let text = format!("HTTP/1.1 {status} Any\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
    Act::Send(text.into_bytes())
}

pub(super) fn json(status: u16, body: &str) -> Act {
    answer(status, "content-type: application/json\r\n", body)
}

/// A running server.
pub(super) struct Server {
    pub(super) address: std::net::SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub(super) async fn start(act: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, act) = (Arc::clone(&seen), Arc::new(act));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, act) = (Arc::clone(&log), Arc::clone(&act));
                tokio::spawn(async move { serve(stream, &log, &*act).await });
            }
        });
        Self { address, seen }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    log: &Mutex<Vec<Seen>>,
    act: &(impl Fn(&Seen) -> Act + ?Sized),
) {
    let Some(request) = read(&mut stream).await else {
        return;
    };
    log.lock().unwrap().push(request.clone());
    match act(&request) {
        Act::Send(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Act::Hang(bytes) => {
            let _ = stream.write_all(&bytes).await;
            tokio::time::sleep(std::time::Duration::from_secs(30)).await;
        }
        Act::Drop => {}
    }
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let mut seen = Seen::default();
    let head_end = loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let mut lines = head.lines();
            seen.line = lines.next()?.to_owned();
            for line in lines {
                let (name, value) = line.split_once(": ")?;
                seen.headers
                    .push((name.to_ascii_lowercase(), value.to_owned()));
            }
            break head.len() + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let length = seen
        .header("content-length")
        .map_or(0, |text| text.parse().unwrap());
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    seen.body = String::from_utf8_lossy(&bytes[head_end..]).into_owned();
    Some(seen)
}
