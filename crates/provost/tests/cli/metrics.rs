//! The series of a workspace: as a text, and as a real Prometheus scrapes them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::workplace::Workplace;

/// Ends a process that the test started.
pub struct Ended(pub Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn worked() -> Workplace {
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    place.run(&["run", "Count the orders of nobody"]).exits(0);
    place.run(&["run", "Note the orders of ada"]).exits(3);
    place
}

/// The value of a series, as it is written.
fn value<'t>(text: &'t str, series: &str) -> Option<&'t str> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))
}

/// Starts `work` with a door for scrapers; the process and its address.
fn working(place: &Workplace) -> (Ended, String) {
    let mut command = place.command(&["work", "--metrics", "127.0.0.1:0"]);
    let mut child = command
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    lines.read_line(&mut said).unwrap();
    let child = Ended(child);
    // Why kept open: what it says further must find a reader.
    std::thread::spawn(move || lines.lines().for_each(drop));
    let url = said.trim().strip_prefix("metrics at ").unwrap().to_owned();
    (child, url)
}

/// Sends one request to `at`: status, head and body of the answer.
pub fn asked(at: &str, what: &str, host: &str) -> std::io::Result<(u16, String, String)> {
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let request = format!("{what} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    // Why: chunks would have their sizes in the body.
    assert!(!head.contains("transfer-encoding: chunked"), "{head}");
    Ok((status.unwrap_or_default(), head.to_owned(), body.to_owned()))
}

#[test]
fn the_series_are_those_of_the_journal() {
    let empty = Workplace::new();
    let text = empty.run(&["stats", "--openmetrics"]).exits(0).raw_stdout;
    assert!(text.ends_with("# EOF\n"), "{text}");
    let place = worked();
    let text = place.run(&["stats", "--openmetrics"]).exits(0).raw_stdout;
    for (series, wanted) in [
        (
            "provost_runs_total{status=\"succeeded\",planner=\"playbook\"}",
            "2",
        ),
        ("provost_runs_open{status=\"waiting_approval\"}", "1"),
        (
            "provost_attempts_total{operation=\"shop.orders\",class=\"ok\"}",
            "4",
        ),
        (
            "provost_attempt_seconds_count{operation=\"shop.orders\"}",
            "4",
        ),
        (
            "provost_proposals_total{planner=\"playbook\",outcome=\"checked\"}",
            "4",
        ),
        ("provost_revisions_total{cause=\"observed\"}", "1"),
        ("provost_criteria_total{proven=\"held\"}", "2"),
        ("provost_steps_total{status=\"succeeded\"}", "4"),
        ("provost_series_dropped_total", "0"),
    ] {
        assert_eq!(value(&text, series), Some(wanted), "{series}\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
    // Nothing of a goal, an argument, an answer or a person.
    for content in ["ada", "nobody", "orders of", "The note", "orders.txt"] {
        assert!(!text.contains(content), "{content}: {text}");
    }
    // A no ends the third, and is a verdict.
    let runs = place.json(&["runs", "--json"]);
    let runs = runs["runs"].as_array().unwrap();
    let open = runs
        .iter()
        .find(|run| run["status"] == "waiting_approval")
        .unwrap();
    let run = open["id"].as_str().unwrap();
    place.run(&["reject", run, "--reason", "not now"]).exits(0);
    let text = place.run(&["stats", "--openmetrics"]).exits(0).raw_stdout;
    assert_eq!(
        value(&text, "provost_approvals_total{outcome=\"rejected\"}"),
        Some("1")
    );
    assert_eq!(
        value(&text, "provost_approval_wait_seconds_count"),
        Some("1")
    );
    let verdict = "provost_verdicts_total{guilty=\"neither\",party=\"person\"";
    assert!(text.contains(verdict), "{text}");
    assert!(!text.contains("provost_runs_open"), "{text}");
    place.run(&["stats", "--openmetrics", "--json"]).exits(2);
}

#[test]
fn a_worker_serves_them_to_this_machine_alone() {
    let place = worked();
    let refused = place
        .run(&["work", "--metrics", "0.0.0.0:0", "--until-idle"])
        .exits(2);
    assert!(refused.stderr.contains("other machines"), "{refused}");
    let (_work, url) = working(&place);
    let at = url
        .strip_prefix("http://")
        .unwrap()
        .strip_suffix("/metrics")
        .unwrap();
    let (status, head, text) = asked(at, "GET /metrics", at).unwrap();
    assert_eq!(status, 200, "{text}");
    assert!(
        head.contains("application/openmetrics-text; version=1.0.0"),
        "{head}"
    );
    let told = place.run(&["stats", "--openmetrics"]).exits(0).raw_stdout;
    assert_eq!(text, told, "two that ask are told the same");
    assert_eq!(asked(at, "GET /", at).unwrap().0, 404);
    assert_eq!(asked(at, "POST /metrics", at).unwrap().0, 405);
    // The control: a page of another site that has this address for its name learns nothing.
    for other in ["rebound.example", "127.0.0.1.example:80", "10.0.0.1", ""] {
        let (status, _, text) = asked(at, "GET /metrics", other).unwrap();
        assert_eq!(status, 421, "{other}");
        assert!(!text.contains("provost_"), "{text}");
    }
    for name in ["localhost:9464", "LOCALHOST", "[::1]:80"] {
        assert_eq!(asked(at, "GET /metrics", name).unwrap().0, 200, "{name}");
    }
}

/// Asks until the answer has a result.
fn queried(at: &str, query: &str) -> Value {
    let mut path = "GET /api/v1/query?query=".to_owned();
    for byte in query.bytes() {
        path.push_str(&format!("%{byte:02X}"));
    }
    let begun = Instant::now();
    loop {
        let found = asked(at, &path, at).ok();
        let found = found.and_then(|(_, _, body)| serde_json::from_str::<Value>(&body).ok());
        let results = found
            .as_ref()
            .and_then(|found| found["data"]["result"].as_array());
        if let Some(results) = results.filter(|results| !results.is_empty()) {
            return results[0]["value"][1].clone();
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{query}: {found:?}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
#[ignore = "needs Prometheus: scripts/full metrics"]
fn prometheus_scrapes_a_worker() {
    let place = worked();
    let (_work, url) = working(&place);
    let target = url
        .strip_prefix("http://")
        .unwrap()
        .trim_end_matches("/metrics");
    let dir = tempfile::tempdir().unwrap();
    let config = format!(
        "global: {{ scrape_interval: 1s }}\nscrape_configs:\n  - job_name: provost\n    \
         static_configs: [ {{ targets: [\"{target}\"] }} ]\n"
    );
    std::fs::write(dir.path().join("prometheus.yml"), config).unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let program = std::env::var("PROMETHEUS").unwrap_or_else(|_| "prometheus".to_owned());
    let prometheus = Command::new(program)
        .arg(format!(
            "--config.file={}",
            dir.path().join("prometheus.yml").display()
        ))
        .arg(format!(
            "--storage.tsdb.path={}",
            dir.path().join("data").display()
        ))
        .arg(format!("--web.listen-address={address}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _prometheus = Ended(prometheus);
    let address = address.to_string();
    let one = |query: &str| queried(&address, query);
    assert_eq!(one("provost_runs_total{status=\"succeeded\"}"), "2");
    assert_eq!(
        one("provost_attempts_total{operation=\"shop.orders\",class=\"ok\"}"),
        "4"
    );
    assert_eq!(one("provost_attempt_seconds_bucket{le=\"+Inf\"}"), "4");
    assert_eq!(one("up{job=\"provost\"}"), "1");
    // What it took of the text is what there is, series by series.
    let text = place.run(&["stats", "--openmetrics"]).exits(0).raw_stdout;
    let there = text.lines().filter(|line| !line.starts_with('#')).count();
    let taken = one("scrape_samples_scraped{job=\"provost\"}");
    assert_eq!(taken.as_str().unwrap().parse::<usize>().unwrap(), there);
    // A later run is seen by a later scrape.
    place.run(&["run", "Count the orders of ada"]).exits(0);
    assert_eq!(one("provost_runs_total{status=\"succeeded\"} == 3"), "3");
    println!("{there} series, scraped by Prometheus");
}
