//! The table of a tool of kind `http`.
//!
//! Owns `base_url`, `auth`, `headers` and the requests of the operations. Never reads a secret.
//! INVARIANT: a template reads nothing but arguments that `input` declares, and the key where
//! there is one.

use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::catalog::{Idempotency, KeyCarrier, Operation};
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::expr::{ArgTree, Part, Template};
use provost_plan::node::{Fields, Node};
use provost_plan::schema::Schema;
use provost_plan::source::Spanned;
use provost_wire::SecretName;
use provost_wire::http::{BaseUrl, Method};
use serde_json::{Value, json};

use super::Http;
use super::template::{BodyTemplate, Encoding, RequestTemplate};
use crate::adapter::{Adapter, Overreach, ToolReach, ToolSettings};
use crate::config::{
    KeySupport, OperationFields, OperationParts, ReadTable, ResponseFormat, TemplateFields,
    ToolScope, bad_setting, base_url, check_references, property_names, read_operations, secret,
};
use crate::protected_paths::ProtectedPaths;

/// Headers that the client itself sets, or that `auth` does.
const RESERVED_HEADERS: [&str; 8] = [
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "transfer-encoding",
    "upgrade",
];

/// What is needed to reach the server.
#[derive(Clone, Debug)]
pub(crate) struct HttpSettings {
    pub(crate) base: BaseUrl,
    pub(crate) auth: Option<AuthSetting>,
    pub(crate) headers: Vec<(String, String)>,
    /// Whether each request says where it stands in the trace of its run. Why in no digest: it
    /// changes nothing of what is asked for.
    pub(crate) propagate: bool,
    pub(crate) endpoints: BTreeMap<String, Endpoint>,
}

/// How the tool says who it is.
#[derive(Clone, Debug)]
pub(crate) enum AuthSetting {
    Bearer(SecretName),
    Basic { user: String, password: SecretName },
    Header { name: String, secret: SecretName },
}

/// One request and how its answer is read.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) method: Method,
    pub(crate) template: RequestTemplate,
    pub(crate) answer: ResponseFormat,
}

impl HttpSettings {
    pub(crate) fn read(scope: &ToolScope<'_>, fields: &mut Fields<'_, '_>) -> Option<ReadTable> {
        let base = base_url(scope, fields, "base_url");
        let auth_node = fields.node("auth");
        let auth = auth_node.and_then(|node| auth(node, fields.diagnostics()));
        let headers_node = fields.node("headers");
        let headers = constant_headers(fields);
        let propagate = fields.boolean("propagate").unwrap_or(false);
        fields.required("ops");
        let mut connection = json!({
            "base_url": base.as_ref().map(|base| base.value.to_string()),
            "auth": auth_node.map(Node::to_value),
            "headers": headers_node.map(Node::to_value),
        });
        let private = base.as_ref().is_some_and(|base| base.value.is_private());
        if let (Value::Object(map), true) = (&mut connection, private) {
            map.insert("private".to_owned(), true.into());
        }
        let reader = HttpReader { scope, connection };
        let tables = fields.map("ops").unwrap_or_default();
        let read =
            |_: &Spanned<String>, name, fields: &mut Fields<'_, '_>| reader.read(name, fields);
        let (endpoints, operations) =
            read_operations(scope.tool, tables, fields.diagnostics(), read);
        let settings = Self {
            base: base?.value,
            auth,
            headers,
            propagate,
            endpoints,
        };
        Some((Arc::new(settings), operations))
    }
}

impl ToolSettings for HttpSettings {
    fn open(
        &self,
        _: &str,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Arc<dyn Adapter>, Overreach> {
        Ok(Arc::new(Http::open(self, protected.base().to_owned())))
    }

    fn secrets(&self) -> Vec<&SecretName> {
        let own = self.auth.iter().map(AuthSetting::secret);
        own.chain(self.base.proxy_secret()).collect()
    }

    fn reach(&self) -> ToolReach {
        match self.base.loopback_port() {
            Some(port) if self.base.proxy().is_none() => ToolReach::Loopback(port),
            _ => ToolReach::Elsewhere,
        }
    }
}

/// `{ bearer = SECRET }`, `{ user = "u", password = SECRET }` or
/// `{ header = "X-Key", secret = SECRET }`
fn auth(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<AuthSetting> {
    let mut fields = Fields::new("`auth`", node, diagnostics)?;
    let bearer = secret(&mut fields, "bearer");
    let user = fields.text("user");
    let password = secret(&mut fields, "password");
    let header = fields.text("header");
    let value = secret(&mut fields, "secret");
    let setting = match (bearer, (user, password), (header, value)) {
        (Some(bearer), (None, None), (None, None)) => Some(AuthSetting::Bearer(bearer)),
        (None, (Some(user), Some(password)), (None, None)) => {
            let user = user.value;
            Some(AuthSetting::Basic { user, password })
        }
        (None, (None, None), (Some(header), Some(secret))) => {
            let name = header.value;
            Some(AuthSetting::Header { name, secret })
        }
        _ => {
            let message = "`auth` is one of `{ bearer }`, `{ user, password }` and \
                           `{ header, secret }`";
            bad_setting(&mut fields, node.span, message);
            None
        }
    };
    fields.finish();
    setting
}

fn constant_headers(fields: &mut Fields<'_, '_>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for (name, node) in fields.map("headers").unwrap_or_default() {
        check_header(name, fields.diagnostics());
        match node.to_value() {
            Value::String(text) => headers.push((name.value.clone(), text)),
            _ => bad_setting(fields, node.span, "a header of a tool is a text"),
        }
    }
    headers
}

fn check_header(name: &Spanned<String>, diagnostics: &mut Vec<Diagnostic>) {
    let lower = name.value.to_ascii_lowercase();
    let plain = name
        .value
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    let message = if RESERVED_HEADERS.contains(&lower.as_str()) {
        format!("the header `{}` is set by provost or by `auth`", name.value)
    } else if name.value.is_empty() || !plain {
        format!("`{}` cannot be the name of a header", name.value)
    } else {
        return;
    };
    diagnostics.push(Diagnostic::new(Code::BadWorkspace, name.span, message));
}

struct HttpReader<'a> {
    scope: &'a ToolScope<'a>,
    connection: Value,
}

impl HttpReader<'_> {
    fn read(&self, name: String, fields: &mut Fields<'_, '_>) -> Option<(Endpoint, Operation)> {
        let mut declared = OperationFields::read(
            self.scope,
            fields,
            KeySupport::InCall("an HTTP request", &["header", "arg"]),
        );
        let exchange =
            TemplateFields::read(self.scope, &mut declared, fields, ResponseFormat::Json);
        let request_node = fields.required("request");
        let request = request_node.and_then(|node| request(node, fields.diagnostics()));
        let (input, (method, template)) = (exchange.input?, request?);
        check_key(declared.idempotency(), &input, fields);
        let mut known = property_names(&input);
        let keyed = matches!(declared.idempotency(), Idempotency::Key { .. });
        if let Idempotency::Key {
            carrier: KeyCarrier::Arg(name),
            ..
        } = declared.idempotency()
        {
            known.push(name);
        }
        check_references("request", template.references(), &known, keyed, fields);
        let parts = OperationParts {
            description: format!("calls the operator's request `{name}`"),
            name,
            effect: exchange.effect,
            input,
            output: exchange.output,
            errors_no_effect: exchange.errors_no_effect,
            endpoint: json!({
                "kind": "http",
                "connection": self.connection,
                "request": request_node.map(Node::to_value),
                "response": exchange.answer.word(),
            }),
        };
        let operation = declared.operation(fields, parts);
        let endpoint = Endpoint {
            method,
            template,
            answer: exchange.answer,
        };
        Some((endpoint, operation))
    }
}

/// `{ method, path, query, headers, body or rest }`
fn request(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<(Method, RequestTemplate)> {
    let mut fields = Fields::new("`request`", node, diagnostics)?;
    let method = fields
        .required("method")
        .and_then(|_| fields.choice("method", &Method::WORDS));
    let path_text = fields.required_text("path");
    let path = path_text.and_then(|text| path(&text, fields.diagnostics()));
    let query = trees(&mut fields, "query");
    let headers = trees(&mut fields, "headers");
    for (name, _) in &headers {
        check_header(name, fields.diagnostics());
    }
    let body_node = fields.node("body");
    let rest_node = fields.node("rest");
    if let (Some(Method::Get), Some(node)) = (method, body_node.or(rest_node)) {
        bad_setting(&mut fields, node.span, "a GET has no `body`");
    }
    if let (Some(_), Some(node)) = (body_node, rest_node) {
        bad_setting(
            &mut fields,
            node.span,
            "a request has `body` or `rest`, not both",
        );
    }
    let rest = [("json", Encoding::Json), ("form", Encoding::Form)];
    let body = match (body_node, fields.choice("rest", &rest)) {
        // Why: the text of the file is not at hand here, so an expression is placed at its string.
        (Some(node), _) => BodyTemplate::Json(ArgTree::read_plain(node, "", fields.diagnostics())),
        (None, Some(encoding)) => BodyTemplate::Rest(encoding),
        (None, None) => BodyTemplate::None,
    };
    fields.finish();
    let plain = |entries: Vec<(Spanned<String>, ArgTree)>| {
        entries
            .into_iter()
            .map(|(name, tree)| (name.value, tree))
            .collect()
    };
    let template = RequestTemplate {
        path: path?,
        query: plain(query),
        headers: plain(headers),
        body,
    };
    Some((method?, template))
}

fn trees(fields: &mut Fields<'_, '_>, name: &'static str) -> Vec<(Spanned<String>, ArgTree)> {
    let entries = fields.map(name).unwrap_or_default();
    entries
        .iter()
        .map(|(name, node)| {
            (
                name.clone(),
                ArgTree::read_plain(node, "", fields.diagnostics()),
            )
        })
        .collect()
}

fn path(text: &Spanned<String>, diagnostics: &mut Vec<Diagnostic>) -> Option<Template> {
    let template = Template::parse(&text.value, text.span, "")
        .map_err(|diagnostic| diagnostics.push(*diagnostic))
        .ok()?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@/%".contains(c);
    let literal = template.parts().iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Expr(_) => None,
    });
    let problem = if !text.value.starts_with('/') {
        Some("it does not begin with `/`")
    } else if literal.clone().any(|text| text.contains(['?', '#'])) {
        Some("it holds `?` or `#`; give a query in `query`")
    } else if !literal.clone().flat_map(str::chars).all(allowed) {
        Some("it holds a character that has to be percent-encoded")
    } else if text.value.split('/').any(|part| matches!(part, "." | "..")) {
        Some("it holds `.` or `..`")
    } else {
        None
    };
    match problem {
        None => Some(template),
        Some(problem) => {
            let message = format!("`{}` cannot be a path: {problem}", text.value);
            diagnostics.push(Diagnostic::new(Code::BadWorkspace, text.span, message));
            None
        }
    }
}

/// A key is provost's: no argument of the plan may set it.
fn check_key(idempotency: &Idempotency, input: &Schema, fields: &mut Fields<'_, '_>) {
    let span = fields.span();
    let Idempotency::Key { carrier, .. } = idempotency else {
        return;
    };
    match carrier {
        KeyCarrier::Header(name) => {
            check_header(&Spanned::new(name.clone(), span), fields.diagnostics());
        }
        KeyCarrier::Arg(name) if property_names(input).contains(&name.as_str()) => {
            let message = format!("`input` declares `{name}`, which carries the key");
            bad_setting(fields, span, message);
        }
        _ => {}
    }
}
