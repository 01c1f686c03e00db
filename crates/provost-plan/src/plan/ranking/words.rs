//! Words of a text: cut up, without those that say nothing, each by its stem; and which mean the
//! same.
//!
//! Owns the table of what means the same in the work that tools are used for. Knows no operation
//! and no product. INVARIANT: a word of the table is found however it is inflected in a text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// Words that tell nothing about what is wanted.
const EMPTY: &str = "a about all also am an and any are as at be been by can could did do does for \
    from had has have he her here him his how i if in into is it its just lately let me more much \
    my no not now of off on once one or our out please right she so some somebody still such than \
    that the their them then there these they this those to today tonight under up us was we were \
    what where whether which while whom why will with without would yes yet you your \
    api http json null true false v1 v2 v3 id ids specific given using use used existing optional";

/// Groups of words that stand for the same thing in some field.
const AKIN: &str = "\
mail email inbox mailbox newsletter letter
message post note chat dm reply answer say write
send mail notify tell inform deliver email write post message say
thread discussion conversation topic
reply answer respond
forum topic post board community
channel room chat group
reaction emoji thumb like
ticket issue bug task defect story request
comment remark reply feedback object opinion say
assign give hand owner
transition move status state close done
watcher follow subscriber
worklog hour effort
delete remove drop erase destroy rid discard throw kill purge trash cancel
create add new make open insert begin start file enter register
update change edit modify set rename correct fix patch alter adjust
list show enumerate overview many
get read fetch retrieve view look open see
search find query lookup discover locate look
move rename
copy fork duplicate clone
close resolve finish complete fix end
acknowledge ack accept look confirm
incident alert alarm outage page broken emergency problem
oncall duty shift pager rotation
page call wake notify incident
escalation policy wake
team crew group department squad
reroute forward redirect hand transfer
maintenance silence mute downtime upgrade window
repository repo project codebase
branch line trunk
checkout switch back
commit revision change save record version
diff difference change edit
status state unsaved
log history done output crash error
merge land integrate approve
pull merge change proposal propose
review approve reviewer object
check test build ci pass
release version ship publish launch
deployment rollout ship deploy staging release
workflow build pipeline job
run start execute restart rerun again
collaborator member permission access invite push
user person member employee colleague account who staff work author
profile detail phone
contact supplier client customer vendor partner phone address
customer client buyer shopper
invoice bill
send resend again
void cancel annul
order purchase buy checkout cart
payment pay settle paid charge purchase money
charge payment purchase pay debit
refund reimburse return back money
payout withdraw transfer earning bank
dispute contest chargeback complaint
subscription membership plan contract
balance money owe account fund cash
receivable owe unpaid debt outstanding overdue due
transaction spend spent booking card
pod container workload service
kubernetes cluster container
deployment service workload app frontend backend
scale copy replica size instance
rollout restart undo previous redeploy
node machine server host
drain cordon repair out
event happen occur
configmap config setting configuration
helm chart package install
exec shell command terminal run
server machine vm virtual instance host
action reboot restart power reset
cpu load busy usage metric
resize size memory bigger grow
backup saved snapshot
domain dns record address point www hostname
database db table record sql row
directory folder tree
file document attachment draft
attachment attached file
label folder tag category mark
filter rule sort automatically
article story blog post paper publication
publish online live release bring
suspend ban block deactivate
latest new recent newest
time clock hour late when
timezone zone city
convert when
air pollution dirty quality measurement smog
measurement value reading latest
memory remember knowledge fact graph note
web internet site online url
weather forecast climate";

/// Forms of words that no ending tells.
const IRREGULAR: [(&str, &str); 30] = [
    ("began", "begin"),
    ("bought", "buy"),
    ("broke", "break"),
    ("broken", "break"),
    ("built", "build"),
    ("came", "come"),
    ("done", "do"),
    ("found", "find"),
    ("gave", "give"),
    ("given", "give"),
    ("gone", "go"),
    ("held", "hold"),
    ("kept", "keep"),
    ("knew", "know"),
    ("left", "leave"),
    ("lost", "lose"),
    ("made", "make"),
    ("paid", "pay"),
    ("people", "person"),
    ("ran", "run"),
    ("said", "say"),
    ("saw", "see"),
    ("seen", "see"),
    ("sent", "send"),
    ("sold", "sell"),
    ("spent", "spend"),
    ("told", "tell"),
    ("took", "take"),
    ("written", "write"),
    ("wrote", "write"),
];

/// The words of a text by their stems, in order, without the empty ones.
pub(super) fn terms(text: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    for c in text.chars() {
        // Why: `createIssue` is two words.
        if c.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if c.is_alphanumeric() { c } else { ' ' });
        before = c;
    }
    let words = spaced.to_lowercase();
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    words
        .into_iter()
        .filter(|word| word.chars().count() > 1 && !is_empty(word))
        .map(|word| stem(&word))
}

fn is_empty(word: &str) -> bool {
    static WORDS: OnceLock<BTreeSet<&str>> = OnceLock::new();
    let words = WORDS.get_or_init(|| EMPTY.split_whitespace().collect());
    words.contains(word)
}

/// The stems that mean the same as one in some field.
pub(super) fn akin(stem: &str) -> impl Iterator<Item = &'static str> {
    static GROUPS: OnceLock<BTreeMap<String, Vec<&'static str>>> = OnceLock::new();
    let groups = GROUPS.get_or_init(groups);
    groups.get(stem).into_iter().flatten().copied()
}

fn groups() -> BTreeMap<String, Vec<&'static str>> {
    static STEMS: OnceLock<Vec<Vec<String>>> = OnceLock::new();
    let stems = STEMS.get_or_init(|| {
        let stems = |line: &str| line.split_whitespace().map(stem).collect();
        AKIN.lines().map(stems).collect()
    });
    let mut all: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    for group in stems {
        for word in group {
            let others = group.iter().filter(|other| *other != word);
            let known = all.entry(word.clone()).or_default();
            known.extend(others.map(String::as_str));
        }
    }
    all
}

/// What stays of a word when its ending goes. Rough on purpose: both sides are cut alike.
fn stem(word: &str) -> String {
    const ENDINGS: [(&str, &str); 14] = [
        ("ations", ""),
        ("ation", ""),
        ("ments", ""),
        ("ment", ""),
        ("ings", ""),
        ("ing", ""),
        ("ies", "y"),
        ("ied", "y"),
        ("sses", "ss"),
        ("ers", ""),
        ("ed", ""),
        ("er", ""),
        ("es", ""),
        ("s", ""),
    ];
    let irregular = IRREGULAR.iter().find(|(form, _)| *form == word);
    let word = irregular.map_or(word, |(_, base)| base);
    let mut stem = word.to_owned();
    if !word.is_ascii() || word.ends_with("ss") {
        return stem;
    }
    for (ending, put) in ENDINGS {
        if let Some(start) = word.strip_suffix(ending)
            && start.len() + put.len() >= 3
        {
            stem = format!("{start}{put}");
            break;
        }
    }
    // Why: `file` and `files`, `stopped` and `stop` come to the same.
    let trimmed = stem.strip_suffix('e').filter(|start| start.len() >= 3);
    let mut stem = trimmed.map_or(stem.clone(), str::to_owned);
    let last: Vec<char> = stem.chars().rev().take(2).collect();
    if let [one, other] = last.as_slice()
        && one == other
        && !"aeiouls".contains(*one)
        && stem.len() > 3
    {
        stem.pop();
    }
    stem
}
