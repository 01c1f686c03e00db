//! A desk that a tool calls, and that answers when the test says so: a call is under way for as
//! long as is wanted.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::workplace::Workplace;

/// A desk that a tool looks at, and that answers when the test says so.
pub struct Desk(TcpListener);

impl Desk {
    /// A workspace with a desk.
    pub fn of(place: &Workplace) -> Self {
        let desk = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = desk.local_addr().unwrap();
        let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
        place.write("provost.toml", format!("{config}\n{}", tool(address)));
        place.write("schemas/none.json", NONE);
        place.write("schemas/looked.json", LOOKED);
        place.write("playbooks/look.yaml", LOOK);
        place.write("playbooks/book.yaml", BOOK);
        Self(desk)
    }

    /// The call that comes next.
    pub fn called(&self) -> TcpStream {
        let (mut call, _) = self.0.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            call.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        call
    }

    /// Whether nobody called since.
    pub fn is_quiet(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        self.0.accept().is_err()
    }
}

fn tool(address: SocketAddr) -> String {
    format!(
        r#"
[tools.desk]
kind = "http"
base_url = "http://{address}"
[tools.desk.ops.look]
request = {{ method = "GET", path = "/look" }}
input = "schemas/none.json"
output = "schemas/looked.json"
effect = "read"
[tools.desk.ops.book]
request = {{ method = "POST", path = "/book" }}
input = "schemas/none.json"
output = "schemas/looked.json"
effect = "external"
"#
    )
}

const NONE: &str = r#"{ "type": "object", "additionalProperties": false, "properties": {} }"#;

const LOOKED: &str = r#"{
  "type": "object", "required": ["free"], "properties": { "free": { "type": "boolean" } }
}"#;

const LOOK: &str = r#"
schema: provost/playbook/v1
match: "Look whether the desk is free"
goal: { success: [ { id: looked, text: the desk was looked at } ] }
plan:
  steps:
    - { id: look, tool: desk.look, args: {} }
  success:
    - { for: looked, check: '${ steps.look.output.free }' }
  answer:
    - { text: The desk is free., cites: [look] }
"#;

const BOOK: &str = r#"
schema: provost/playbook/v1
match: "Book the desk for {whom}"
params: { whom: { type: string } }
goal: { success: [ { id: booked, text: the desk is booked } ] }
plan:
  steps:
    - { id: book, tool: desk.book, args: {} }
  success:
    - { for: booked, check: '${ steps.book.status == "succeeded" }' }
  answer:
    - { text: The desk is booked., cites: [book] }
"#;

/// Answers a call.
pub fn answered(mut call: TcpStream) {
    let body = r#"{ "free": true }"#;
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    call.write_all((head + body).as_bytes()).unwrap();
}
