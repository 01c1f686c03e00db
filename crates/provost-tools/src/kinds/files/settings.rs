//! The table of a tool of kind `files`.
//!
//! Owns `root` and what an operator may say about the built-in operations. Never lets an
//! operator loosen their types. INVARIANT: what changes files exists only where it was named.

use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::catalog::{Effect, Idempotency, Operation};
use provost_plan::node::{Fields, Kind, Node};
use provost_plan::schema::Schema;
use provost_plan::source::Spanned;
use serde_json::{Value, json};

use super::{Files, schemas};
use crate::adapter::{Adapter, Overreach, ToolReach, ToolSettings};
use crate::config::{
    KeySupport, OperationFields, OperationParts, ReadTable, ToolScope, bad_setting, output_schema,
    read_operations,
};
use crate::linked_path::LinkedPath;
use crate::protected_paths::ProtectedPaths;

/// What is needed to reach the root and run its operations.
#[derive(Clone, Debug)]
pub(crate) struct FilesSettings {
    pub(crate) root: Spanned<String>,
    /// By the name of the operation.
    pub(crate) actions: BTreeMap<String, Action>,
}

/// What one operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) verb: FilesVerb,
    pub(crate) overwrite: bool,
}

/// The built-in operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilesVerb {
    List,
    Read,
    Search,
    Write,
    Edit,
    Append,
    Folder,
    Move,
    Delete,
}

impl FilesVerb {
    const WORDS: [(&'static str, Self); 9] = [
        ("list", Self::List),
        ("read", Self::Read),
        ("search", Self::Search),
        ("write", Self::Write),
        ("edit", Self::Edit),
        ("append", Self::Append),
        ("folder", Self::Folder),
        ("move", Self::Move),
        ("delete", Self::Delete),
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Read => "read",
            Self::Search => "search",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Append => "append",
            Self::Folder => "folder",
            Self::Move => "move",
            Self::Delete => "delete",
        }
    }
}

impl FilesSettings {
    /// Reads the table. Without `ops` the tool lists, reads and searches under those names.
    pub(crate) fn read(scope: &ToolScope<'_>, fields: &mut Fields<'_, '_>) -> Option<ReadTable> {
        let root = fields.required_text("root");
        let span = fields.span();
        let built_in_entry = |verb: FilesVerb| {
            let name = Spanned::new(verb.word().to_owned(), span);
            let kind = Kind::Map(Vec::new());
            (name, Node { kind, span })
        };
        let built_in = [FilesVerb::List, FilesVerb::Read, FilesVerb::Search].map(built_in_entry);
        let tables = match fields.map("ops") {
            Some(tables) => tables,
            None => &built_in,
        };
        let read = |short: &Spanned<String>, name, fields: &mut Fields<'_, '_>| {
            let reader = FilesReader {
                scope,
                short: &short.value,
                root: root.as_ref().map_or("", |root| &root.value),
            };
            reader.read(name, fields)
        };
        let (actions, operations) = read_operations(scope.tool, tables, fields.diagnostics(), read);
        let root = root?;
        Some((Arc::new(Self { root, actions }), operations))
    }
}

impl ToolSettings for FilesSettings {
    fn open(
        &self,
        tool: &str,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Arc<dyn Adapter>, Overreach> {
        let files = Files::open(tool, self, protected).map_err(|what| Overreach {
            setting: "root",
            span: self.root.span,
            what,
        })?;
        Ok(Arc::new(files))
    }

    fn reach(&self) -> ToolReach {
        ToolReach::Below(self.root.value.clone())
    }
}

struct FilesReader<'a> {
    scope: &'a ToolScope<'a>,
    short: &'a str,
    root: &'a str,
}

impl FilesReader<'_> {
    fn read(&self, name: String, fields: &mut Fields<'_, '_>) -> Option<(Action, Operation)> {
        let verb = self.verb(fields);
        let keys = match verb {
            Some(FilesVerb::Append) => KeySupport::InTable,
            _ => KeySupport::None,
        };
        let mut declared = OperationFields::read(self.scope, fields, keys);
        self.refuse_types(&mut declared, fields);
        let writes = verb == Some(FilesVerb::Write);
        let overwrite = writes && fields.boolean("overwrite").unwrap_or(false);
        let (default, floor) = match verb {
            Some(FilesVerb::Write) if overwrite => (Effect::Destructive, Effect::Write),
            Some(FilesVerb::Write | FilesVerb::Edit | FilesVerb::Append | FilesVerb::Folder) => {
                (Effect::Write, Effect::Write)
            }
            Some(FilesVerb::Move | FilesVerb::Delete) => (Effect::Destructive, Effect::Destructive),
            Some(FilesVerb::List | FilesVerb::Read | FilesVerb::Search) | None => {
                (Effect::Read, Effect::Read)
            }
        };
        let effect = declared.effect(fields, default, floor);
        let verb = verb?;
        let parts = OperationParts {
            name,
            description: schemas::description(verb).to_owned(),
            effect,
            input: Schema::compile(schemas::input(verb)).ok()?,
            output: Schema::compile(schemas::output(verb)).ok(),
            errors_no_effect: false,
            endpoint: self.endpoint(verb, overwrite),
        };
        let mut operation = declared.operation(fields, parts);
        if writes || verb == FilesVerb::Append {
            // Why: the text reaches nobody by itself; the path decides where it goes.
            operation.content.insert("text".to_owned());
        }
        if verb == FilesVerb::Edit {
            operation.content.extend(["old", "new"].map(str::to_owned));
        }
        if verb == FilesVerb::Folder && operation.idempotency == Idempotency::None {
            // Why: a folder that is there already is what was asked for.
            operation.idempotency = Idempotency::Natural;
        }
        Some((Action { verb, overwrite }, operation))
    }

    fn endpoint(&self, verb: FilesVerb, overwrite: bool) -> Value {
        let mut endpoint = json!({
            "kind": "files",
            "root": self.root,
            "op": verb.word(),
            "overwrite": overwrite,
        });
        if let Value::Object(map) = &mut endpoint {
            let target = LinkedPath::target(self.scope.config.base, self.root);
            map.extend(target.map(|real| ("leads_to".to_owned(), real.into())));
        }
        endpoint
    }

    /// The built-in operation that `op` names, or else the name itself.
    fn verb(&self, fields: &mut Fields<'_, '_>) -> Option<FilesVerb> {
        if fields.node("op").is_some() {
            return fields.choice("op", &FilesVerb::WORDS);
        }
        let found = FilesVerb::WORDS
            .iter()
            .find(|(word, _)| *word == self.short);
        if found.is_none() {
            fields.required("op");
        }
        found.map(|(_, verb)| *verb)
    }

    fn refuse_types(&self, declared: &mut OperationFields, fields: &mut Fields<'_, '_>) {
        if let Some(node) = fields.node("input") {
            let span = node.span;
            bad_setting(
                fields,
                span,
                "the operations of a files tool have their own `input`",
            );
        }
        let span = fields.node("output").map(|node| node.span);
        let output = output_schema(fields, self.scope.config.base);
        declared.trusted |= output.trusted;
        if let (Some(_), Some(span)) = (output.schema, span) {
            bad_setting(
                fields,
                span,
                "the operations of a files tool have their own `output`",
            );
        }
    }
}
