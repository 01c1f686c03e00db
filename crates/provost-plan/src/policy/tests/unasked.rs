//! Policies that ask nobody about untrusted values, and policies that do.

use super::*;

const ALL: &str = r#"@id("all") permit (principal, action in Action::"call", resource);"#;

const SINK: &str = r#"@id("untrusted-sink")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect != "read" && resource.untrusted_sink };"#;

const CONTROL: &str = r#"@id("untrusted-control")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect != "read" && resource.untrusted_control };"#;

/// What is said of the policies over tools of several domains.
fn unasked(texts: &[&str]) -> Option<String> {
    let (_, finding) = policy(texts).unasked(&people().principal("ada"))?;
    assert_eq!(finding.code, Code::UntrustedUnasked);
    Some(finding.message)
}

#[test]
fn policies_that_ask_about_untrusted_values_are_not_named() {
    let writes = r#"forbid (principal, action in Action::"call", resource)
        when { !resource.attended && resource.effect != "read" };"#;
    let by_integrity = r#"forbid (principal, action in Action::"call", resource)
        when { resource.effect != "read" &&
               (resource.sink_integrity != "trusted" || resource.control_integrity == "text") };"#;
    let reads = r#"permit (principal, action in Action::"call", resource)
        when { resource.effect == "read" };"#;
    let one = r#"permit (principal, action == Action::"pager.notify", resource);"#;
    let its = r#"forbid (principal, action == Action::"pager.notify", resource)
        when { !resource.attended && (resource.untrusted_sink || resource.untrusted_control) };"#;
    for texts in [
        &[DEFAULT_POLICY][..],
        &[ALL, SINK, CONTROL],
        &[ALL, writes],
        &[ALL, by_integrity],
        &[reads],
        &[reads, one, its],
        &[],
    ] {
        assert_eq!(unasked(texts), None, "{texts:?}");
    }
}

#[test]
fn policies_that_ask_nobody_about_untrusted_values_are_named() {
    let by_amount = r#"forbid (principal, action == Action::"bank.wire", resource)
        when { !resource.attended && resource.untrusted_sink &&
               context.args has amount && context.args.amount > 500 };"#;
    let but_finance = r#"@id("untrusted-sink")
        forbid (principal, action in Action::"call", resource)
        when { !resource.attended && resource.effect != "read" && resource.untrusted_sink }
        unless { principal in Group::"oncall" };"#;
    let text_alone = r#"forbid (principal, action in Action::"call", resource)
        when { !resource.attended && resource.sink_integrity == "text" };"#;
    let sinks = "untrusted data decides whom it reaches";
    let control = "untrusted text decides that it runs";
    for (texts, expected) in [
        (&[ALL][..], [sinks, control]),
        (&[ALL, SINK], [control, control]),
        (&[ALL, CONTROL], [sinks, sinks]),
        (&[ALL, CONTROL, by_amount], [sinks, sinks]),
        (&[ALL, CONTROL, but_finance], [sinks, sinks]),
        (&[ALL, CONTROL, text_alone], [sinks, sinks]),
    ] {
        let said = unasked(texts).unwrap();
        assert!(
            expected.iter().all(|part| said.contains(part)),
            "{texts:?}: {said}"
        );
        for part in [sinks, control] {
            assert_eq!(
                said.contains(part),
                expected.contains(&part),
                "{texts:?}: {said}"
            );
        }
    }
}
