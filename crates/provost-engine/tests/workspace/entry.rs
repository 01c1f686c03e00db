//! The expressions of `[tools.NAME.ops.NAME]`, as a workspace reads them.

use super::{NOTES, findings, write};

/// Expressions of an entry are typed against the schemas when the workspace is read, and not when
/// a call is in doubt. The control is the same entry without the fault.
#[test]
fn the_expressions_of_an_entry_are_held_against_the_schemas() {
    let of_issue = r#"{ "type": "object", "required": ["issue"],
        "properties": { "issue": { "type": "string" } } }"#;
    let tickets = r#"{ "type": "object", "required": ["tickets"], "properties": { "tickets":
        { "type": "array", "items": { "type": "object", "required": ["id"], "properties":
        { "id": { "type": "integer" } } } } } }"#;
    let ticket = r#"{ "type": "object", "required": ["id"],
        "properties": { "id": { "type": "integer" }, "done": { "type": "boolean" } } }"#;
    let sound = "[tools.look]\nkind = \"http\"\nbase_url = \"http://127.0.0.1:1\"\n\
        [tools.look.ops.of_issue]\nrequest = { method = \"GET\", path = \"/${ args.issue }\" }\n\
        input = \"issue.json\"\noutput = { schema = \"tickets.json\", trusted = true }\n\
        effect = \"read\"\n\
        [tools.desk]\nkind = \"http\"\nbase_url = \"http://127.0.0.1:1\"\n\
        [tools.desk.ops.create]\nrequest = { method = \"POST\", path = \"/\" }\n\
        input = \"issue.json\"\noutput = { schema = \"ticket.json\" }\neffect = \"external\"\n\
        creates = { kind = \"ticket\", id = \"${ output.id }\" }\n\
        preview = { tool = \"look.of_issue\", args = { issue = \"${ args.issue }\" } }\n\
        reconcile = { tool = \"look.of_issue\", args = { issue = \"${ args.issue }\" }, \
        landed = \"${ size(output.tickets) > 0 }\", output = \"${ output.tickets[0] }\", \
        final_after = \"30s\" }\n";
    let said = |from: &str, to: &str| {
        let dir = tempfile::tempdir().unwrap();
        assert!(from.is_empty() || sound.contains(from), "{from}");
        let config = sound.replace(from, to);
        let config =
            format!("{NOTES}[tools.notes.ops.read]\nop = \"read\"\neffect = \"read\"\n{config}");
        let files = [
            ("provost.toml", config.as_str()),
            ("issue.json", of_issue),
            ("tickets.json", tickets),
            ("ticket.json", ticket),
        ];
        write(dir.path(), &files);
        findings(dir.path())
    };
    assert_eq!(said("", ""), "nothing\n");
    let table = [
        (
            "size(output.tickets)",
            "size(output.ticket)",
            "`landed` of `reconcile`: `ticket` is never there: the schema names only `tickets` (did you mean `tickets`?)",
        ),
        (
            "${ size(output.tickets) > 0 }",
            "${ size(output.tickets) }",
            "`landed` of `reconcile`: it is a whole number, and a boolean is wanted",
        ),
        (
            "output.tickets[0] }",
            "output.tickets[0].idd }",
            "`output` of `reconcile`: `idd` is never there",
        ),
        (
            "output.tickets[0] }",
            "output.tickets }",
            "`output` of `reconcile`: it never fits",
        ),
        (
            "args = { issue = \"${ args.issue }\" }, landed",
            "args = { isue = \"${ args.issue }\" }, landed",
            "`args` of `reconcile`: `look.of_issue` takes no argument `isue`",
        ),
        (
            "args = { issue = \"${ args.issue }\" }, landed",
            "args = { issue = \"${ args.isue }\" }, landed",
            "`args` of `reconcile`, `issue`: `isue` is never there",
        ),
        (
            "args = { issue = \"${ args.issue }\" }, landed",
            "args = { issue = 4 }, landed",
            "`args` of `reconcile`: `issue` never fits",
        ),
        (
            "id = \"${ output.id }\"",
            "id = \"${ output.idd }\"",
            "`id` of `creates`: `output.idd` is never there: the schema names only `done`, `id` (did you mean `id`?)",
        ),
        (
            "id = \"${ output.id }\"",
            "id = \"${ output.done }\"",
            "`id` of `creates`: ",
        ),
        (
            "preview = { tool = \"look.of_issue\", args = { issue = \"${ args.issue }\"",
            "preview = { tool = \"look.of_issue\", args = { issue = \"${ args.isue }\"",
            "`args` of `preview`: `args.isue` is never there: the schema names only `issue` (did you mean `issue`?)",
        ),
    ];
    for (from, to, wanted) in table {
        let said = said(from, to);
        assert!(said.contains(wanted), "{to}: {said}");
    }
}
