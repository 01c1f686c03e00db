use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn what_waits_is_listed_with_commands() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["inbox"]), @r"
    exit 0
    --- stderr
    nothing waits for a person
    ");
    place.run(&["run", "Ask whose orders count"]).exits(3);
    place.waiting();
    assert_snapshot!(place.run(&["inbox"]), @r#"
    exit 0
    --- stdout
    approve step `note`?
      goal       Note the orders of ada
      run        RUN, revision 1 of the plan
      purpose    Write the note
      tool       notes.write
      effect     write, high risk
      policy     production-writes
      argument   text: "2 orders of ada"  (untrusted data from count)
      argument   path: "orders.txt"
      needs      approval by one person
      requested  by ada at MOMENT
      solo       this workspace is solo: the requester may also approve
      digest     sha256:DIGEST

    approve: provost approve RUN@CARD
    reject: provost reject RUN@CARD --reason WHY

    question: Whose orders?
      asked by   step `whose`
      answer     a text that fits {"minLength":2,"type":"string"}
      run        RUN
      digest     sha256:DIGEST

    answer: provost answer RUN@CARD VALUE
    "#);
    assert_eq!(
        place.json(&["inbox", "--json"])["waiting"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_monitor_reads_the_exit_code() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["inbox", "--check"]), @"
    exit 0
    --- stderr
    nothing waits for a person, 0 in doubt
    ");
    place.waiting();
    assert_snapshot!(place.run(&["inbox", "--check"]), @"
    exit 3
    --- stderr
    1 run waits for a person, 0 in doubt
    ");
    // Why the row: how a write comes to be in doubt is another test's.
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    journal
        .execute("update waits set kind = 'settlement'", [])
        .unwrap();
    assert_snapshot!(place.run(&["inbox", "--check"]), @"
    exit 4
    --- stderr
    nothing waits for a person, 1 in doubt
    ");
}
