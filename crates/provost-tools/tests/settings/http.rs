//! The table of an HTTP tool, and every way of writing it wrong.

use crate::support::check_findings;

const TOOLS: &str = r#"
base_url = "ftp://h"
ops = { }
#> W801 `ftp://h` cannot be a base URL: the scheme must be

base_url = "http://u:hunter2@h"
ops = { }
#> W801 `…` cannot be a base URL: it holds a user or a password

base_url = "http://h?q=1"
ops = { }
#> W801 `http://h?q=1` cannot be a base URL: it contains a query

base_url = "http://h"
auth = { bearer = "hunter2-hunter2" }
ops = { }
#> W801 a secret is named by `env:NAME` or `file:PATH`, never written out
#> W801 `auth` is one of

base_url = "http://h"
auth = { user = "u" }
ops = { }
#> W801 `auth` is one of

base_url = "http://h"
headers = { Host = "x" }
ops = { }
#> W801 the header `Host` is set by provost

base_url = "http://h"
#> P005 the tool `p` needs the field `ops`
"#;

const READS: &str = r#"
#> P005 the operation `p.a` needs the field `request`

request = { method = "get", path = "/" }
#> P006 `method` must be one of

request = { method = "GET", path = "x" }
#> W801 `x` cannot be a path: it does not begin

request = { method = "GET", path = "/a?b=1" }
#> W801 `/a?b=1` cannot be a path: it holds `?`

request = { method = "GET", path = "/a/../b" }
#> W801 `/a/../b` cannot be a path: it holds `.`

request = { method = "GET", path = "/a b" }
#> W801 `/a b` cannot be a path: it holds a character

request = { method = "GET", path = "/${ args.x " }
#> P009

request = { method = "GET", path = "/", body = { a = 1 } }
#> W801 a GET has no `body`

request = { method = "GET", path = "/", headers = { Authorization = "x" } }
#> W801 the header `Authorization`

request = { method = "GET", path = "/", quary = { } }
#> P004 `request` has no field `quary` -> did you mean `query`?

request = { method = "GET", path = "/${ args.x }" }
#> W801 the request reads `args.x`, which `input` lacks

request = { method = "GET", path = "/${ steps.a.output }" }
#> R107 `steps` cannot be read in a request -> a request sees

request = { method = "GET", path = "/${ key }" }
#> W801 the request reads `key`, and the operation has no
"#;

const WRITES: &str = r#"
request = { method = "POST", path = "/" }
#> P005 the operation `p.a` needs the field `effect`

effect = "write"
request = { method = "POST", path = "/${ args.nam }" }
#> W801 the request reads `args.nam`, which `input` lacks -> did you mean `name`?

effect = "write"
request = { method = "POST", path = "/" }
idempotency = { key = { arg = "name", ttl = "1h" } }
#> W801 `input` declares `name`, which carries the key

effect = "write"
request = { method = "POST", path = "/" }
idempotency = { key = { header = "K" } }
#> P005 `key` needs the field `ttl`

effect = "write"
request = { method = "POST", path = "/" }
idempotency = { key = { meta = "K", header = "K", ttl = "1h" } }
#> W801 `key` needs one of `header`, `meta`, `arg` and `env`

effect = "write"
request = { method = "POST", path = "/" }
idempotency = { key = { meta = "K", ttl = "1h" } }
#> W801 the key of an HTTP request travels in `header` or `arg`

effect = "write"
request = { method = "POST", path = "/" }
errors = "none"
#> P006 `errors` must be one of
"#;

#[test]
fn every_wrong_setting_is_reported() {
    let tool = "[tools.p]\nkind = \"http\"";
    check_findings(tool, TOOLS);
    let operation = format!("{tool}\nbase_url = \"http://h\"\n[tools.p.ops.a]");
    check_findings(&format!("{operation}\neffect = \"read\""), READS);
    let input = "input = { type = \"object\", properties = { name = { type = \"string\" } } }";
    check_findings(&format!("{operation}\n{input}"), WRITES);
}
