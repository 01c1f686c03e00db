//! The refund workspace behind a proxy: through the binary, with a shop that only the proxy knows.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::stage::Stage;
use sim::world::Local;

/// Hands each request on to `server`, whatever host it names; keeps what each began with.
fn proxy(server: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let keeps = heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, server, keeps) = (stream.unwrap(), server.clone(), keeps.clone());
            // Why apart: what is kept open must not keep others waiting.
            std::thread::spawn(move || hand_on(stream, &server, &keeps));
        }
    });
    (url, heard)
}

fn hand_on(mut client: TcpStream, server: &str, heard: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut first = [0u8; 65_536];
    let read = client.read(&mut first)?;
    let text = String::from_utf8_lossy(first.get(..read).unwrap_or_default()).into_owned();
    let line = text.lines().next().unwrap_or_default().to_owned();
    heard.lock().unwrap().push(text.clone());
    let own = line.replacen("http://shop.invalid", "", 1);
    let mut server = TcpStream::connect(server.trim_start_matches("http://"))?;
    server.write_all(text.replacen(&line, &own, 1).as_bytes())?;
    let mut back = (server.try_clone()?, client.try_clone()?);
    let rest = std::thread::spawn(move || std::io::copy(&mut client, &mut server));
    std::io::copy(&mut back.0, &mut back.1)?;
    back.1.shutdown(std::net::Shutdown::Both)?;
    let _ = rest.join();
    Ok(())
}

/// The workspace with a shop that stands behind the proxy at `url`.
fn behind(url: &str) -> Stage {
    let stage = Stage::of("refund", false);
    stage.edit("provost.toml", |text| {
        let text = text.replace("http://127.0.0.1:4517", "http://shop.invalid");
        format!(
            "{text}\n[network]\nproxy = \"{url}\"\nuser = \"ada\"\npassword = \"file:proxy-pw\"\n"
        )
    });
    std::fs::write(stage.path().join("proxy-pw"), "open-sesame\n").unwrap();
    stage
}

#[test]
fn a_run_reaches_a_shop_that_only_the_proxy_knows() {
    let dir = tempfile::tempdir().unwrap();
    let world = Local::start(&dir.path().join("world.json")).unwrap();
    let (url, heard) = proxy(world.url().to_owned());
    let stage = behind(&url);
    let doctor = stage.run(&["doctor"]);
    let said = format!("others are reached through {url} as ada");
    assert!(doctor.all().contains(&said), "{}", doctor.all());
    let ran = stage
        .run(&["run", "Refund 2000 cents of pay-1 for PAY-1"])
        .exits(0);
    let heard = heard.lock().unwrap().clone();
    assert!(heard.len() >= 3, "{}", ran.all());
    for request in &heard {
        let head = request.to_lowercase();
        assert!(head.contains("http://shop.invalid/"), "{head}");
        assert!(head.contains("proxy-authorization: basic "), "{head}");
    }
    let kept = std::fs::read(stage.path().join(".provost/journal.db")).unwrap();
    let holds = |text: &[u8]| kept.windows(text.len()).any(|part| part == text);
    assert!(!holds(b"open-sesame") && !holds(b"YWRhOm9wZW4tc2VzYW1l"));
}

/// The control: without the proxy nothing is read and nothing refunded.
#[test]
fn with_the_proxy_gone_the_run_fails_and_nothing_took_place() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let stage = behind(&url);
    let ran = stage
        .run(&["run", "Refund 2000 cents of pay-1 for PAY-1"])
        .exits(1);
    assert!(
        ran.all().contains("the request was not sent"),
        "{}",
        ran.all()
    );
}
