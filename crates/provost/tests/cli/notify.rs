//! Telling people elsewhere: once each, again after a kill, reminded while it waits.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::work::signal;
use super::workplace::{Ran, Workplace};

const IDLE: [&str; 2] = ["work", "--until-idle"];
const TELL: &str = "#!/bin/sh\ncat >> told\necho >> told\nenv > env\n";

/// A workspace that tells `script` of what `rest` says.
fn telling(script: &str, rest: &str) -> Workplace {
    let place = Workplace::new();
    tell(&place, rest);
    tell_by(&place, script);
    place
}

/// Has a workspace tell a script that keeps what it is told of, of what `rest` says.
pub fn tell(place: &Workplace, rest: &str) {
    tell_by(place, TELL);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let table = format!("[notify.oncall]\ncommand = [\"./tell\"]\n{rest}\n");
    place.write("provost.toml", format!("{config}\n{table}"));
}

fn tell_by(place: &Workplace, script: &str) {
    place.write("tell", script);
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(place.path("tell"), mode).unwrap();
}

/// What was told, in order.
pub fn told(place: &Workplace) -> Vec<Value> {
    let text = std::fs::read_to_string(place.path("told")).unwrap_or_default();
    // Why some: a line that is being written is no line yet.
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Brings the moment of every notice that waits.
pub fn time_passes(place: &Workplace) {
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    let sql = "update notices set due_ms = 1 where done_ms is null";
    journal.execute(sql, []).unwrap();
}

#[test]
fn what_waits_is_told_once_as_a_cloud_event() {
    let place = telling(TELL, "on = [\"waiting\"]");
    let (run, card) = place.waiting();
    let told = told(&place);
    assert_eq!(told.len(), 1, "{told:?}");
    let event = &told[0];
    assert_eq!(event["specversion"], "1.0");
    assert_eq!(event["type"], "provost.waiting");
    assert_eq!(event["subject"], run.as_str());
    assert_eq!(event["data"]["step"], "note");
    let command = format!("provost approve {run}@{card}");
    assert_eq!(event["data"]["command"], command.as_str());
    assert_eq!(
        event["data"]["link"],
        Value::Null,
        "nobody said where the pages are"
    );
    // What the command gets of this process's environment.
    let env = std::fs::read_to_string(place.path("env")).unwrap();
    assert!(
        env.contains("PATH=") && !env.contains("XDG_CONFIG_HOME"),
        "{env}"
    );
    place.run(&IDLE).exits(0);
    assert_eq!(self::told(&place).len(), 1);
    assert!(
        place
            .run(&["doctor"])
            .raw_stdout
            .contains("all notices were delivered")
    );
}

/// The control is the test above: without `-C` the command has none.
#[test]
fn the_command_of_a_notice_names_the_workspace_as_it_was_typed() {
    let place = telling(TELL, "on = [\"waiting\"]");
    let dir = place.path(".").canonicalize().unwrap();
    let at = dir.to_str().unwrap();
    place
        .run(&["-C", at, "run", "Note the orders of ada"])
        .exits(3);
    let (run, card) = place.card();
    let command = format!("provost -C {at} approve {run}@{card}");
    assert_eq!(told(&place)[0]["data"]["command"], command.as_str());
}

#[test]
fn what_failed_is_told_and_what_nobody_asked_for_is_not() {
    let place = telling(TELL, "on = [\"failed\"]");
    let journal = rusqlite::Connection::open(place.path("data/shop.db")).unwrap();
    journal.execute_batch("drop table orders").unwrap();
    place.run(&["run", "Note the orders of ada"]).exits(1);
    let told = told(&place);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["data"]["occasion"], "failed");
    assert_eq!(told[0]["data"]["status"], "failed");
}

#[test]
fn a_breaker_that_opens_is_told() {
    let place = telling(TELL, "on = [\"breaker_open\"]");
    let limit = "database = \"data/shop.db\"\nbreaker = { failures = 1, cooldown = \"1h\" }";
    place.edit("provost.toml", "database = \"data/shop.db\"", limit);
    let slow = super::interrupt::SLOW.replace("LIMIT", "4000000000");
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let from = config.find("select count(*)").unwrap();
    let to = config.find("\"\"\"\nsingle").unwrap();
    let query = config.get(from..to).unwrap();
    let config = config.replace(query, &format!("{slow}\n"));
    let config = config.replacen("single = true", "single = true\ntimeout = \"200ms\"", 1);
    place.write("provost.toml", config);
    let mut child = place.spawn(&["run", "Count the orders of ada"]);
    let begun = Instant::now();
    // Why from the rows: the run itself waits for the breaker, for an hour.
    let opened = || {
        let path = place.path(".provost/journal.db");
        let open =
            rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY);
        let count = open.and_then(|journal| {
            journal.query_row("select count(*) from notices", [], |row| {
                row.get::<_, i64>(0)
            })
        });
        count.unwrap_or(0) > 0
    };
    while !opened() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    place.run(&["work", "--until-idle", "--runs", "1"]);
    let told = told(&place);
    assert_eq!(told[0]["data"]["about"]["which"], "shop", "{told:?}");
}

#[test]
fn killed_while_it_tells_nothing_is_lost_and_the_id_stays() {
    let place = telling(&format!("{TELL}kill -9 $PPID\n"), "on = [\"waiting\"]");
    let ran = place.run(&["run", "Note the orders of ada"]);
    assert_eq!(ran.code, None, "it was not killed: {ran}");
    assert_eq!(told(&place).len(), 1);
    tell_by(&place, TELL);
    // The control: before its moment nobody tells it again.
    place.run(&IDLE).exits(0);
    assert_eq!(told(&place).len(), 1);
    time_passes(&place);
    place.run(&IDLE).exits(0);
    let told = told(&place);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0], told[1]);
    time_passes(&place);
    place.run(&IDLE).exits(0);
    assert_eq!(self::told(&place).len(), 2);
}

#[test]
fn what_cannot_be_told_is_shown_and_tried_again() {
    let place = telling(
        "#!/bin/sh\necho no line >&2\nexit 7\n",
        "on = [\"waiting\"]",
    );
    let ran = place.run(&["run", "Note the orders of ada"]).exits(3);
    let said = "warning: `oncall` could not be notified: it ended with exit status: 7: no line";
    assert!(ran.raw_stderr.contains(said), "{ran}");
    let ran = place.run(&["doctor"]);
    // Why no fault: the service looks before it starts, and what it starts is what delivers.
    assert_eq!(ran.code, Some(0), "{ran}");
    let said = "to oncall: it ended with exit status: 7: no line";
    assert!(ran.raw_stdout.contains(said), "{ran}");
    time_passes(&place);
    let ran = place.run(&IDLE).exits(0);
    assert!(
        ran.raw_stderr.contains("could not be notified, retrying"),
        "{ran}"
    );
    tell_by(&place, TELL);
    time_passes(&place);
    place.run(&IDLE).exits(0);
    assert_eq!(told(&place).len(), 1);
    // The control: whoever could tell of everything warns of nothing.
    let ran = place.run(&["run", "Note the orders of bob"]).exits(3);
    assert!(!ran.raw_stderr.contains("could not be notified"), "{ran}");
    assert_eq!(told(&place).len(), 2);
    let ran = place.run(&["doctor"]).exits(0);
    let all = "all notices were delivered";
    assert!(ran.raw_stdout.contains(all), "{ran}");
}

/// The control is the script that is there: see above.
#[test]
fn a_notice_that_cannot_be_sent_is_found_before_anybody_has_to_be_told() {
    let place = telling(TELL, "on = [\"failed\"]");
    place.run(&["doctor"]).exits(0);
    place.edit("provost.toml", "[\"./tell\"]", "[\"./tel\"]");
    let told = |said: &str| {
        let ran = place.run(&["doctor"]).exits(2);
        assert!(ran.stdout.contains(said), "{ran}");
        assert!(!ran.stdout.contains("`provost work`"), "{ran}");
    };
    told("not ok  notices    `oncall`: there is no program `./tel`");
    let journal = rusqlite::Connection::open(place.path("data/shop.db")).unwrap();
    journal.execute_batch("drop table orders").unwrap();
    place.run(&["run", "Note the orders of ada"]).exits(1);
    told("there is no program `./tel`; 1 notice undelivered, the oldest of run ");
}

#[test]
fn while_it_waits_somebody_is_reminded_and_somebody_else_is_told() {
    let rest = "on = [\"waiting\"]\nremind = \"1s\"\nescalate = { after = \"2s\", to = \"boss\" }\n\
                [notify.boss]\ncommand = [\"./tell\"]\non = []";
    let place = telling(TELL, rest);
    let (run, card) = place.waiting();
    let mut worker = place.spawn(&["work"]);
    let begun = Instant::now();
    let enough = |told: &[Value]| {
        let has = |name: &str, value: Value| told.iter().any(|one| one["data"][name] == value);
        has("reminder", 2.into()) && has("escalated_from", "oncall".into())
    };
    while !enough(&told(&place)) {
        let late = begun.elapsed() > Duration::from_secs(30);
        assert!(!late, "{:?}", told(&place));
        std::thread::sleep(Duration::from_millis(50));
    }
    let ids: std::collections::BTreeSet<String> = told(&place)
        .iter()
        .map(|one| one["id"].to_string())
        .collect();
    assert!(ids.len() >= 4, "{ids:?}");
    // Why drained: what is on its way as a worker is killed is told once more by the next.
    signal(&worker, "-TERM");
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    let before = told(&place).len();
    let said = place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    time_passes(&place);
    let ran = place.run(&IDLE).exits(0);
    assert_eq!(told(&place).len(), before, "{ran}");
    // Why either: on a slow machine the next reminder is due before the yes has been worked off.
    let dropped = |ran: &Ran| ran.raw_stderr.contains("no longer needs the notice");
    assert!(dropped(&said) || dropped(&ran), "{said}\n{ran}");
}

/// Answers requests with these statuses, one after the other, and gives what it read.
fn server(statuses: &'static [u16]) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hooks/provost", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let mut read = Vec::new();
        for status in statuses {
            let (mut stream, _) = listener.accept().unwrap();
            let mut text = String::new();
            while !text.ends_with('}') {
                let mut part = [0; 4096];
                let count = stream.read(&mut part).unwrap();
                text.push_str(std::str::from_utf8(&part[..count]).unwrap());
            }
            read.push(text);
            let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
        }
        read
    });
    (url, thread)
}

#[test]
fn a_notice_leads_to_the_page_of_the_card() {
    let url = "https://provost.example.com";
    let place = telling(
        TELL,
        &format!("on = [\"waiting\"]\n[server]\nurl = \"{url}/\""),
    );
    let (run, card) = place.waiting();
    let told = told(&place);
    let link = told[0]["data"]["link"].as_str().unwrap();
    let begins = format!("{url}/runs/{run}/cards/sha256:{card}");
    assert!(
        link.starts_with(&begins) && link.len() == begins.len() + 48,
        "{link}"
    );
}

#[test]
fn a_webhook_is_signed_and_repeated_under_its_id() {
    let place = Workplace::new();
    let (url, server) = server(&[503, 204]);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let table = format!("[notify.hook]\nurl = \"{url}\"\nsecret = \"file:secret.canary\"\n");
    place.write("provost.toml", format!("{config}\n{table}"));
    place.write("secret.canary", format!("{}\n", sim::canary::WEBHOOK));
    place.waiting();
    let ran = place.run(&["doctor"]);
    assert!(ran.raw_stdout.contains("the server answered 503"), "{ran}");
    time_passes(&place);
    place.run(&IDLE).exits(0);
    let read = server.join().unwrap();
    let header = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_once(": ").unwrap().1.to_owned()
    };
    assert!(
        read[0].starts_with("POST /hooks/provost HTTP/1.1"),
        "{read:?}"
    );
    assert_eq!(
        header(&read[0], "content-type"),
        "application/cloudevents+json"
    );
    assert_eq!(
        header(&read[0], "webhook-id"),
        header(&read[1], "webhook-id")
    );
    assert!(header(&read[0], "webhook-signature").starts_with("v1,"));
    let body = |text: &str| -> Value {
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    assert_eq!(body(&read[0]), body(&read[1]));
    assert_eq!(body(&read[0])["id"], header(&read[0], "webhook-id"));
    assert_eq!(place.run(&["doctor"]).code, Some(0));
}

/// A workspace that tells a webhook, which answers with `statuses`.
fn hooked(
    rest: &str,
    statuses: &'static [u16],
) -> (Workplace, std::thread::JoinHandle<Vec<String>>) {
    let place = Workplace::new();
    let (url, server) = server(statuses);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let table =
        format!("[notify.chat]\nurl = \"{url}\"\nsecret = \"file:secret.canary\"\n{rest}\n");
    place.write("provost.toml", format!("{config}\n{table}"));
    place.write("secret.canary", "T0CANARY/B0CANARY\n");
    (place, server)
}

fn posted(server: std::thread::JoinHandle<Vec<String>>) -> (String, Value) {
    let read = server.join().unwrap().pop().unwrap();
    let (head, body) = read.split_once("\r\n\r\n").unwrap();
    let line = head.lines().next().unwrap().to_owned();
    (line, serde_json::from_str(body).unwrap())
}

#[test]
fn slack_is_told_in_a_message_that_nobody_can_format() {
    let (place, server) = hooked("body = \"slack\"\non = [\"ended\"]", &[200]);
    place.edit(
        "playbooks/count.yaml",
        "Count the orders of {customer}",
        "Count <!here> & the orders of {customer}",
    );
    place
        .run(&["run", "Count <!here> & the orders of ada"])
        .exits(0);
    let (line, body) = posted(server);
    assert_eq!(line, "POST /hooks/provost/T0CANARY/B0CANARY HTTP/1.1");
    assert_eq!(body["mrkdwn"], false);
    let run = place.json(&["runs", "--json"])["runs"][0]["id"].clone();
    let run = run.as_str().unwrap();
    assert_eq!(
        body["text"].as_str().unwrap(),
        format!(
            "provost, run {run}: succeeded\nGoal: Count &lt;!here&gt; &amp; the orders of ada\n\
             Type: provost show {run}"
        )
    );
}

#[test]
fn pagerduty_is_told_by_its_routing_key() {
    let (place, server) = hooked("body = \"pagerduty\"\non = [\"waiting\"]", &[202]);
    let (run, _) = place.waiting();
    let (line, body) = posted(server);
    assert_eq!(line, "POST /hooks/provost HTTP/1.1");
    assert_eq!(body["routing_key"], "T0CANARY/B0CANARY");
    assert_eq!(body["event_action"], "trigger");
    assert_eq!(body["payload"]["severity"], "warning");
    assert_eq!(body["payload"]["component"], run.as_str());
    let key = body["dedup_key"].as_str().unwrap();
    assert!(key.starts_with(&format!("{run}/card/sha256:")), "{key}");
    let command = body["payload"]["custom_details"]["command"]
        .as_str()
        .unwrap();
    assert!(
        command.starts_with(&format!("provost approve {run}@")),
        "{command}"
    );
}

#[test]
fn the_secret_of_a_chat_is_not_in_what_is_kept() {
    // Nobody listens: why it failed is kept, and names the address.
    let (place, server) = hooked("body = \"slack\"\ntimeout = \"1s\"", &[500]);
    place.waiting();
    server.join().unwrap();
    let said = place.run(&["doctor"]);
    assert!(
        said.raw_stdout.contains("the server answered 500"),
        "{said}"
    );
    let journal = std::fs::read(place.path(".provost/journal.db")).unwrap();
    let log = std::fs::read(place.path(".provost/journal.db-wal")).unwrap_or_default();
    for bytes in [journal, log] {
        assert!(!String::from_utf8_lossy(&bytes).contains("T0CANARY"));
    }
}

#[test]
fn who_does_not_say_of_what_is_not_told_of_each_end() {
    let place = telling(TELL, "");
    place.run(&["run", "Count the orders of ada"]).exits(0);
    assert!(told(&place).is_empty());
    // The control: who asks is told, of an end that failed once.
    let place = telling(TELL, "on = [\"ended\", \"failed\"]");
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let told = told(&place);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["type"], "provost.ended");
}

#[test]
fn what_cannot_be_carried_out_is_refused() {
    for (table, said) in [
        (
            "on = [\"waiting\"]",
            "needs either `command`, or `url` with `secret`",
        ),
        ("command = [\"a\"]\non = [\"waitin\"]", "`on` lists some of"),
        (
            "command = [\"a\"]\nremind = \"0s\"",
            "`remind` must be at least 1 s",
        ),
        (
            "url = \"https://a.test/b\"",
            "needs either `command`, or `url` with `secret`",
        ),
        (
            "url = \"https://a.test/b\"\nsecret = \"hunter2hunter2\"",
            "named by `env:NAME`",
        ),
        (
            "url = \"http://a.test/b\"\nsecret = \"env:A\"",
            "`url` must be `https`",
        ),
        (
            "url = \"https://a.test/b?c\"\nsecret = \"env:A\"",
            "a query",
        ),
        (
            "command = [\"a\"]\nescalate = { after = \"1h\", to = \"me\" }",
            "names no other",
        ),
        ("command = [\"a\"]\nto = \"b\"", "has no field `to`"),
    ] {
        let place = Workplace::new();
        let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
        place.write("provost.toml", format!("{config}\n[notify.me]\n{table}\n"));
        let ran: Ran = place.run(&["plan", "Count the orders of ada"]);
        assert_eq!(ran.code, Some(2), "{table}: {ran}");
        assert!(ran.raw_stderr.contains(said), "{table}: {ran}");
    }
}
