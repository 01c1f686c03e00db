//! The services of the suite, and how each case comes about with each of them. `WORK` is the
//! service's folder, `SERVERS` where the MCP servers are installed, `URL` its address.

use super::Behind::{Machine, Mcp, OpenApi, Postgres, Remote, World};
use super::How::{Again, Call, Drifted, Dropped, Echo, Killed, Late, Never, Short, Stopped, Twice};
use super::{How, Service};

const OWN_PROCESS: How = Never("it works inside provost's own process, so what dies is the run");
const ONE_STEP: How = Never("on this machine the effect and its end are one step");
const OWN_WORD: How = Never(
    "what it does stands in provost.toml: edited, it is refused until it is locked again, and what \
     was saved or approved before no longer holds (`cargo test --test cli drift`)",
);
const NO_KEY: How = Never("it takes no idempotency key");
const NO_WRITE: How = Never("it writes nothing");
const NO_TELLING: How = Never("it tells nothing but what it computes");
const SMALL: How = Never("it has no result that grows");
const WORLD_HANGS: &str = r#"{"route":"POST /pages","kind":"hang","effect":false}"#;
const WORLD_ACTS_AND_HANGS: &str = r#"{"route":"POST /pages","kind":"hang","effect":true}"#;

/// What `everything` does, whichever way it is reached.
const EVERYTHING: [How; 12] = [
    Call(
        "weather",
        r#"{"location":"Chicago"}"#,
        "ok happened",
        "temperature",
    ),
    Call("weather", r#"{"no_such":1}"#, "invalid_arguments none", ""),
    Call(
        "none",
        r#"{"resourceId":-1}"#,
        "conflict unknown",
        "esource",
    ),
    Stopped("weather", r#"{"location":"Chicago"}"#, "timeout unknown"),
    NO_WRITE,
    Killed(
        "weather",
        r#"{"location":"Chicago"}"#,
        "unavailable unknown",
    ),
    Again("weather", r#"{"location":"Chicago"}"#),
    Dropped("weather", r#"{"location":"Chicago"}"#),
    Call(
        "echo",
        r#"{"message":"BIG"}"#,
        "output_invalid happened",
        "max_bytes",
    ),
    NO_KEY,
    Echo("env", "{}"),
    Drifted("weather", r#"{"location":"Chicago"}"#),
];

pub(super) const SERVICES: [Service; 13] = [
    Service {
        name: "MCP everything",
        behind: Mcp(&[
            "node",
            "SERVERS/node_modules/@modelcontextprotocol/server-everything/dist/index.js",
        ]),
        tool: r#"
[tools.s]
kind = "mcp"
command = COMMAND
env = { TOLD = "file:secret" }
[tools.s.ops]
weather = { tool = "get-structured-content", effect = "read" }
echo = { effect = "read", max_bytes = 1000 }
env = { tool = "get-env", effect = "read" }
none = { tool = "get-resource-reference", effect = "write" }
"#,
        count: None,
        cases: EVERYTHING,
    },
    Service {
        name: "MCP everything, over HTTP",
        behind: Remote(&[
            "node",
            "SERVERS/node_modules/@modelcontextprotocol/server-everything/dist/index.js",
            "streamableHttp",
        ]),
        tool: r#"
[tools.s]
kind = "mcp"
url = "URL/mcp"
bearer = "file:secret"
[tools.s.ops]
weather = { tool = "get-structured-content", effect = "read" }
echo = { effect = "read", max_bytes = 1000 }
env = { tool = "get-env", effect = "read" }
none = { tool = "get-resource-reference", effect = "write" }
"#,
        count: None,
        cases: EVERYTHING,
    },
    Service {
        name: "MCP filesystem",
        behind: Mcp(&[
            "node",
            "SERVERS/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
            "WORK",
        ]),
        tool: r#"
[tools.s]
kind = "mcp"
command = COMMAND
[tools.s.ops]
read = { tool = "read_text_file", effect = "read", max_bytes = 1000 }
write = { tool = "write_file", effect = "destructive" }
"#,
        count: None,
        cases: [
            Call(
                "read",
                r#"{"path":"WORK/a.txt"}"#,
                "ok happened",
                "good day",
            ),
            Call("read", r#"{"no_such":1}"#, "invalid_arguments none", ""),
            Call(
                "write",
                r#"{"path":"/etc/no","content":""}"#,
                "permission_denied unknown",
                "Access denied",
            ),
            Stopped("read", r#"{"path":"WORK/a.txt"}"#, "timeout unknown"),
            Late("write", r#"{"path":"WORK/new.txt","content":"new"}"#),
            Killed("read", r#"{"path":"WORK/a.txt"}"#, "unavailable unknown"),
            Again("read", r#"{"path":"WORK/a.txt"}"#),
            Dropped("read", r#"{"path":"WORK/a.txt"}"#),
            Call(
                "read",
                r#"{"path":"WORK/big.txt"}"#,
                "output_invalid happened",
                "max_bytes",
            ),
            NO_KEY,
            Echo("read", r#"{"path":"WORK/echo.txt"}"#),
            Drifted("read", r#"{"path":"WORK/a.txt"}"#),
        ],
    },
    Service {
        name: "MCP memory",
        behind: Mcp(&[
            "node",
            "SERVERS/node_modules/@modelcontextprotocol/server-memory/dist/index.js",
        ]),
        tool: r#"
[tools.s]
kind = "mcp"
command = COMMAND
env = { MEMORY_FILE_PATH = "WORK/memory.json" }
[tools.s.ops]
graph = { tool = "read_graph", effect = "read" }
create = { tool = "create_entities", effect = "write" }
observe = { tool = "add_observations", effect = "write" }
"#,
        count: None,
        cases: [
            Call("graph", "{}", "ok happened", "entities"),
            Call("create", r#"{"no_such":1}"#, "invalid_arguments none", ""),
            Call(
                "observe",
                r#"{"observations":[{"entityName":"nobody","contents":["x"]}]}"#,
                "not_found unknown",
                "nobody",
            ),
            Stopped("graph", "{}", "timeout unknown"),
            Late(
                "create",
                r#"{"entities":[{"name":"new","entityType":"x","observations":[]}]}"#,
            ),
            Killed("graph", "{}", "unavailable unknown"),
            Again("graph", "{}"),
            Dropped("graph", "{}"),
            SMALL,
            NO_KEY,
            NO_TELLING,
            Drifted("graph", "{}"),
        ],
    },
    Service {
        name: "MCP git",
        behind: Mcp(&["SERVERS/venv/bin/mcp-server-git", "--repository", "WORK"]),
        tool: r#"
[tools.s]
kind = "mcp"
command = COMMAND
[tools.s.ops]
log = { tool = "git_log", effect = "read" }
show = { tool = "git_show", effect = "read", max_bytes = 1000 }
branch = { tool = "git_create_branch", effect = "write" }
"#,
        count: None,
        cases: [
            Call("log", r#"{"repo_path":"WORK"}"#, "ok happened", "Commit"),
            Call("log", r#"{"no_such":1}"#, "invalid_arguments none", ""),
            Call(
                "branch",
                r#"{"repo_path":"/etc","branch_name":"x"}"#,
                "conflict unknown",
                "/etc",
            ),
            Stopped("log", r#"{"repo_path":"WORK"}"#, "timeout unknown"),
            Late("branch", r#"{"repo_path":"WORK","branch_name":"new"}"#),
            Killed("log", r#"{"repo_path":"WORK"}"#, "unavailable unknown"),
            Again("log", r#"{"repo_path":"WORK"}"#),
            Dropped("log", r#"{"repo_path":"WORK"}"#),
            Call(
                "show",
                r#"{"repo_path":"WORK","revision":"HEAD"}"#,
                "output_invalid happened",
                "max_bytes",
            ),
            NO_KEY,
            Echo("log", r#"{"repo_path":"WORK"}"#),
            Drifted("log", r#"{"repo_path":"WORK"}"#),
        ],
    },
    Service {
        name: "MCP time",
        behind: Mcp(&["SERVERS/venv/bin/mcp-server-time"]),
        tool: r#"
[tools.s]
kind = "mcp"
command = COMMAND
[tools.s.ops]
now = { tool = "get_current_time", effect = "read" }
convert = { tool = "convert_time", effect = "write" }
"#,
        count: None,
        cases: [
            Call(
                "now",
                r#"{"timezone":"Europe/Paris"}"#,
                "ok happened",
                "Europe/Paris",
            ),
            Call("now", r#"{"no_such":1}"#, "invalid_arguments none", ""),
            Call(
                "convert",
                r#"{"source_timezone":"Nowhere/At","time":"10:00","target_timezone":"UTC"}"#,
                "conflict unknown",
                "Nowhere",
            ),
            Stopped("now", r#"{"timezone":"Europe/Paris"}"#, "timeout unknown"),
            NO_WRITE,
            Killed(
                "now",
                r#"{"timezone":"Europe/Paris"}"#,
                "unavailable unknown",
            ),
            Again("now", r#"{"timezone":"Europe/Paris"}"#),
            Dropped("now", r#"{"timezone":"Europe/Paris"}"#),
            SMALL,
            NO_KEY,
            NO_TELLING,
            Drifted("now", r#"{"timezone":"Europe/Paris"}"#),
        ],
    },
    Service {
        name: "MCP sqlite",
        behind: Mcp(&[
            "SERVERS/venv-sqlite/bin/mcp-server-sqlite",
            "--db-path",
            "WORK/../data/m.db",
        ]),
        tool: r#"
[tools.s]
kind = "mcp"
command = COMMAND
[tools.s.ops]
read = { tool = "read_query", effect = "read", max_bytes = 1000 }
write = { tool = "write_query", effect = "destructive" }
"#,
        count: None,
        cases: [
            Call(
                "read",
                r#"{"query":"select name from t"}"#,
                "ok happened",
                "good day",
            ),
            Call("read", r#"{"no_such":1}"#, "invalid_arguments none", ""),
            // Why ok: this server tells its refusals as results.
            Call("write", r#"{"query":"select 1"}"#, "ok happened", "Error"),
            Stopped(
                "read",
                r#"{"query":"select name from t"}"#,
                "timeout unknown",
            ),
            Late("write", r#"{"query":"insert into log values ('x')"}"#),
            Killed(
                "read",
                r#"{"query":"select name from t"}"#,
                "unavailable unknown",
            ),
            Again("read", r#"{"query":"select name from t"}"#),
            Dropped("read", r#"{"query":"select name from t"}"#),
            Call(
                "read",
                r#"{"query":"select printf('%.6000c', 'x') as x"}"#,
                "output_invalid happened",
                "max_bytes",
            ),
            NO_KEY,
            Echo("read", r#"{"query":"select text from echo"}"#),
            Drifted("read", r#"{"query":"select name from t"}"#),
        ],
    },
    Service {
        name: "HTTP",
        behind: World,
        tool: r#"
[tools.s]
kind = "http"
base_url = "URL"
[tools.s.ops.tickets]
request = { method = "GET", path = "/tickets", query = { project = "${ args.project }" } }
input = { type = "object", properties = { project = { type = "string" } }, required = ["project"], additionalProperties = false }
effect = "read"
[tools.s.ops.pages]
request = { method = "GET", path = "/pages" }
effect = "read"
[tools.s.ops.some]
request = { method = "GET", path = "/pages" }
effect = "read"
max_bytes = 20
[tools.s.ops.page]
request = { method = "POST", path = "/pages", body = { message = "${ args.message }" } }
input = { type = "object", properties = { message = { type = "string" } }, required = ["message"] }
effect = "external"
[tools.s.ops.keyed]
request = { method = "POST", path = "/pages", body = { message = "${ args.message }" } }
input = { type = "object", properties = { message = { type = "string" } }, required = ["message"] }
effect = "external"
idempotency = { key = { header = "Idempotency-Key", ttl = "24h" } }
"#,
        count: Some(("pages", "/pages")),
        cases: [
            Call("tickets", r#"{"project":"PAY"}"#, "ok happened", "tickets"),
            Call("tickets", r#"{"no_such":1}"#, "invalid_arguments none", ""),
            Call("page", r#"{"message":""}"#, "invalid_arguments none", "422"),
            Short(
                WORLD_HANGS,
                "page",
                r#"{"message":"x"}"#,
                "timeout unknown",
                0,
            ),
            Short(
                WORLD_ACTS_AND_HANGS,
                "page",
                r#"{"message":"x"}"#,
                "timeout unknown",
                1,
            ),
            Killed("page", r#"{"message":"x"}"#, "unavailable unknown"),
            Again("tickets", r#"{"project":"PAY"}"#),
            Dropped("page", r#"{"message":"x"}"#),
            Call("some", "{}", "output_invalid happened", "20 bytes"),
            Twice("keyed", r#"{"message":"x"}"#),
            Echo("pages", "{}"),
            OWN_WORD,
        ],
    },
    Service {
        name: "OpenAPI",
        behind: OpenApi,
        tool: "",
        count: Some(("list_pages", "/pages")),
        cases: [
            Call(
                "list_tickets",
                r#"{"project":"PAY"}"#,
                "ok happened",
                "tickets",
            ),
            Call(
                "send_page",
                r#"{"no_such":1}"#,
                "invalid_arguments none",
                "",
            ),
            Call(
                "send_page",
                r#"{"message":""}"#,
                "invalid_arguments none",
                "",
            ),
            Short(
                WORLD_HANGS,
                "send_page",
                r#"{"message":"x"}"#,
                "timeout unknown",
                0,
            ),
            Short(
                WORLD_ACTS_AND_HANGS,
                "send_page",
                r#"{"message":"x"}"#,
                "timeout unknown",
                1,
            ),
            Killed("send_page", r#"{"message":"x"}"#, "unavailable unknown"),
            Again("list_tickets", r#"{"project":"PAY"}"#),
            Dropped("send_page", r#"{"message":"x"}"#),
            SMALL,
            Twice("send_page", r#"{"message":"x"}"#),
            Echo("list_pages", "{}"),
            OWN_WORD,
        ],
    },
    Service {
        name: "SQLite",
        behind: Machine,
        tool: r#"
[tools.s]
kind = "sql"
database = "data/m.db"
[tools.s.ops.by_name]
query = "select id from t where name = :name"
one = true
input = { type = "object", properties = { name = { type = "string" } }, required = ["name"], additionalProperties = false }
[tools.s.ops.count]
query = "select count(*) as n from log"
one = true
[tools.s.ops.ask]
adhoc = true
max_bytes = 1000
[tools.s.ops.keyed]
execute = "insert into log values ('x')"
idempotency = { key = "table" }
[tools.s.ops.slow]
execute = """
insert into log with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n
"""
"#,
        count: Some(("count", "/n")),
        cases: [
            Call("by_name", r#"{"name":"good day"}"#, "ok happened", "1"),
            Call("by_name", r#"{"no_such":1}"#, "invalid_arguments none", ""),
            Call(
                "ask",
                r#"{"sql":"delete from log"}"#,
                "permission_denied none",
                "only read",
            ),
            Short("", "slow", "{}", "timeout none", 0),
            ONE_STEP,
            OWN_PROCESS,
            OWN_PROCESS,
            Dropped("slow", "{}"),
            Call(
                "ask",
                r#"{"sql":"select printf('%.6000c', 'x')"}"#,
                "output_invalid happened",
                "max_bytes",
            ),
            Twice("keyed", "{}"),
            Echo("ask", r#"{"sql":"select text from echo"}"#),
            OWN_WORD,
        ],
    },
    Service {
        name: "PostgreSQL",
        behind: Postgres,
        tool: r#"
[tools.s]
kind = "sql"
url = "URL"
password = "file:password"
[tools.s.ops.by_name]
query = "select id from t where name = :name"
one = true
input = { type = "object", properties = { name = { type = "string" } }, required = ["name"], additionalProperties = false }
[tools.s.ops.count]
query = "select count(*) as n from log"
one = true
[tools.s.ops.echo]
query = "select text from echo"
[tools.s.ops.huge]
query = "select repeat('x', 6000) as x"
max_bytes = 1000
[tools.s.ops.file]
query = "select pg_read_file('/etc/hostname') as text"
[tools.s.ops.die]
execute = "insert into log (text) select pg_terminate_backend(pg_backend_pid())::text"
[tools.s.ops.keyed]
execute = "insert into log (text) values ('x')"
idempotency = { key = "table" }
[tools.s.ops.slow]
execute = "insert into log (text) select pg_sleep(3)::text"
"#,
        count: Some(("count", "/n")),
        cases: [
            Call("by_name", r#"{"name":"a"}"#, "ok happened", "1"),
            Call("by_name", r#"{"no_such":1}"#, "invalid_arguments none", ""),
            Call("file", "{}", "permission_denied none", "pg_read_file"),
            Short("", "slow", "{}", "timeout none", 0),
            Never(
                "`scripts/full databases` keeps back the answer to `COMMIT`: timeout unknown, \
                 landed",
            ),
            Call("die", "{}", "unavailable none", ""),
            Again("by_name", r#"{"name":"a"}"#),
            Dropped("slow", "{}"),
            Call("huge", "{}", "output_invalid happened", "max_bytes"),
            Twice("keyed", "{}"),
            Echo("echo", "{}"),
            OWN_WORD,
        ],
    },
    Service {
        name: "command",
        behind: Machine,
        tool: r#"
[tools.s]
kind = "command"
root = "work"
secrets = { TOLD = "file:secret" }
[tools.s.ops.cat]
argv = ["cat", "--", "${ args.path }"]
effect = "read"
input = { type = "object", properties = { path = { type = "string" } }, required = ["path"], additionalProperties = false }
max_bytes = 1000
exit = { 1 = "not_found" }
[tools.s.ops.count]
argv = ["sh", "count"]
effect = "read"
response = "json"
[tools.s.ops.env]
argv = ["env"]
effect = "read"
[tools.s.ops.before]
argv = ["sh", "before"]
effect = "write"
[tools.s.ops.after]
argv = ["sh", "after"]
effect = "write"
[tools.s.ops.die]
argv = ["sh", "die"]
effect = "write"
[tools.s.ops.keyed]
argv = ["sh", "keyed"]
effect = "write"
idempotency = { key = { env = "K", ttl = "1h" } }
"#,
        count: Some(("count", "/n")),
        cases: [
            Call("cat", r#"{"path":"a.txt"}"#, "ok happened", "good day"),
            Call("cat", r#"{"no_such":1}"#, "invalid_arguments none", ""),
            Call("cat", r#"{"path":"nosuch"}"#, "not_found none", "nosuch"),
            Short("", "before", "{}", "timeout unknown", 0),
            Short("", "after", "{}", "timeout unknown", 1),
            Call("die", "{}", "unavailable unknown", ""),
            Again("cat", r#"{"path":"a.txt"}"#),
            Dropped("before", "{}"),
            Call(
                "cat",
                r#"{"path":"big.txt"}"#,
                "output_invalid unknown",
                "bytes",
            ),
            Twice("keyed", "{}"),
            Echo("env", "{}"),
            OWN_WORD,
        ],
    },
    Service {
        name: "files",
        behind: Machine,
        tool: r#"
[tools.s]
kind = "files"
root = "work"
[tools.s.ops]
read = { op = "read", max_bytes = 1000 }
list = { op = "list" }
"#,
        count: None,
        cases: [
            Call("read", r#"{"path":"a.txt"}"#, "ok happened", "good day"),
            Call("read", r#"{"no_such":1}"#, "invalid_arguments none", ""),
            Call(
                "read",
                r#"{"path":"../secret"}"#,
                "permission_denied none",
                "leave the root",
            ),
            ONE_STEP,
            ONE_STEP,
            OWN_PROCESS,
            OWN_PROCESS,
            ONE_STEP,
            Call(
                "read",
                r#"{"path":"big.txt"}"#,
                "output_invalid happened",
                "max_bytes",
            ),
            NO_KEY,
            Echo("read", r#"{"path":"echo.txt"}"#),
            OWN_WORD,
        ],
    },
];
