//! Hostile texts as goal, step, output, error and reason: on pages they are text, in JSON they are
//! whole, and in the stream they are not.
//!
//! `PROVOST_COUNT` says how many texts; a part of them in the gate. A browser looks at pages in
//! `scripts/full pages`.

use serde_json::{Value, json};

use super::browser::Browser;
use super::served::{Answer, Served, team, token};
use super::stream::Listening;
use super::workplace::Workplace;

/// What would do something if it were not text.
const ATOMS: [&str; 30] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "\" onfocus=alert(1) autofocus x=\"",
    "</textarea></main><script>alert(1)</script>",
    "</title><iframe src=javascript:alert(1)>",
    "--><!-- <b>",
    "<![CDATA[<a href=//evil.example>]]>",
    "<style>*{display:none}</style>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content=0>",
    "<form action=//evil.example><button>",
    "<math><mi xlink:href=javascript:alert(1)>",
    "<foreignObject><body onload=alert(1)>",
    "javascript:alert(1)",
    "&lt;b&gt;&#x3c;i&#x3e;",
    "{{ 7 * 7 }} {% raw %} <%= 7 %>",
    "${7*7} ${ steps.x.output }",
    "\u{202e}evil\u{2066} moved",
    "hid\u{200b}den\u{2060} \u{e0041}\u{feff}",
    "\u{1b}[31mred\u{1b}]8;;http://evil.example\u{7}link",
    "line\nid: 1-aaaaaaaa\nevent: bye\ndata: {}\n\n",
    "head\r\nSet-Cookie: provost=x\r\n\r\n<b>",
    "\\u003cscript\\u003e \\\" \\",
    "', ''); drop table events; --",
    "раураl.example and pаypal.example",
    "`code` **bold** [link](javascript:alert(1))",
    "\u{1}bell \u{8}\u{7f}\u{9b}31m",
    "<xmp><plaintext><noscript>",
];

/// Where an atom stands in a text; `Q` stands for the number of the text between two letters.
const SHAPES: [&str; 20] = [
    "Q @",
    "@ Q",
    "Q@",
    "@Q@",
    "\"@\" Q",
    "'@' Q",
    "<@> Q",
    "Q </@>",
    "<!--@--> Q",
    "Q=\"@",
    "Q='@",
    "[@](Q)",
    "`@` Q",
    "{@} Q",
    "Q\t@",
    "Q; @;",
    "@ & Q",
    "(Q) @ @ @",
    "Q/@",
    "Q?@=@#@",
];

/// A text, and the mark by which it is found.
struct Hostile {
    mark: String,
    text: String,
}

fn texts() -> Vec<Hostile> {
    let count = std::env::var("PROVOST_COUNT").ok();
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(30);
    let all = ATOMS.len() * SHAPES.len();
    let mut texts: Vec<Hostile> = (0..count)
        .map(|n| {
            // Why a stride: a part of them has every atom and every shape.
            let at = n * 7 % all;
            let mark = format!("Q{n}Q");
            let shape = SHAPES[(at + n / 30) % SHAPES.len()];
            let text = shape
                .replace('Q', &mark)
                .replace('@', ATOMS[at % ATOMS.len()]);
            Hostile { mark, text }
        })
        .collect();
    texts[0].text.push_str(&"x".repeat(500_000));
    texts
}

/// A text as it may stand in a plan: without what is an expression there, or what no plan holds.
fn of_plan(one: &Hostile) -> String {
    let text: String = one.text.chars().take(300).collect();
    text.replace("${", "$ {")
        .replace(['\u{1}', '\u{8}', '\u{7f}', '\u{9b}'], "")
}

/// A plan in which each text is a step's description, an output and an error; one is its goal, and
/// one is written, which a person is asked about.
fn plan(texts: &[Hostile]) -> Value {
    let mut steps = Vec::new();
    for (at, one) in texts.iter().enumerate() {
        steps.push(json!({
            "id": format!("q{at}"), "description": of_plan(one),
            "tool": "shop.orders", "args": { "customer": one.mark },
        }));
        steps.push(json!({
            "id": format!("a{at}"), "on_failure": "continue",
            "assert": format!("${{ steps.q{at}.output.row.total == 0 }}"),
            "message": format!("${{ steps.q{at}.output.row.latest }}"),
        }));
    }
    steps.push(json!({
        "id": "note", "tool": "notes.write",
        "args": { "path": "n.txt", "text": "${ steps.q1.output.row.latest }" },
    }));
    json!({
        "schema": "provost/plan/v1",
        "goal": { "text": of_plan(&texts[1]), "success": [{ "id": "s", "text": of_plan(&texts[2]) }] },
        "steps": steps,
        "success": [{ "for": "s", "check": "${ steps.note.status == \"succeeded\" }" }],
        "answer": [{ "text": "written", "cites": ["note"] }],
    })
}

/// What the pages of the server are made of.
const TAGS: &str = " a article b body br button circle code dd details dialog div dl dt fieldset \
    figcaption figure footer form g h1 h2 h3 h4 head header html input kbd label legend li link \
    main meta nav ol option p path pre q rect script section select span strong summary svg table \
    tbody td text textarea th thead time title tr ul !doctype ";
const ATTRIBUTES: &str = " action aria-current aria-hidden aria-label aria-labelledby \
    autocapitalize autocomplete charset checked class content cx cy d data-age data-live data-run \
    data-wait data-zoom datetime disabled for height hidden href html id lang maxlength method name \
    open r rel required role rows rx ry scope selected spellcheck src tabindex title transform type \
    value viewbox width x x1 x2 xmlns y y1 y2 points text-anchor dominant-baseline markerwidth \
    preserveaspectratio placeholder min max step minlength colspan rowspan dx dy datatype ";

/// Whether a character is not seen, or moves what is seen.
fn is_hidden(c: char) -> bool {
    c != '\n' && c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// What of a page is no text and was not written by this server.
fn strange(page: &str) -> Vec<String> {
    let mut strange = Vec::new();
    if let Some(c) = page.chars().find(|c| is_hidden(*c)) {
        strange.push(format!("{c:?}"));
    }
    let mut rest = page;
    while let Some((_, tag)) = rest.split_once('<') {
        let (tag, after) = tag.split_once('>').unwrap_or((tag, ""));
        rest = after;
        let (name, mut attributes) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
        let name = name.trim_matches('/').to_lowercase();
        let scripts = tag.starts_with("script") && !tag.contains(" src=\"/assets/");
        if scripts || !TAGS.contains(&format!(" {name} ")) {
            strange.push(format!("<{tag}>"));
        }
        while let Some((name, value)) = attributes.split_once('=') {
            let names = name.split_whitespace().map(str::to_lowercase);
            let mut unknown = names.filter(|name| !ATTRIBUTES.contains(&format!(" {name} ")));
            strange.extend(unknown.next().map(|name| format!("{name}= in <{tag}>")));
            let Some((value, next)) = value.strip_prefix('"').and_then(|v| v.split_once('"'))
            else {
                strange.push(format!("an open value in <{tag}>"));
                break;
            };
            let leads = ["href", "src", "action"].contains(&name.trim());
            let ours = value.starts_with(['/', '#']) && !value.contains("//");
            if leads && !ours {
                strange.push(format!("{name}={value}"));
            }
            attributes = next;
        }
    }
    strange
}

/// A page as a person reads it.
fn read(page: &str) -> String {
    let named = [
        ("lt", "<"),
        ("gt", ">"),
        ("quot", "\""),
        ("#39", "'"),
        ("#34", "\""),
        ("#60", "<"),
        ("#62", ">"),
        ("#38", "&"),
        ("amp", "&"),
    ];
    named.iter().fold(page.to_owned(), |page, (name, text)| {
        page.replace(&format!("&{name};"), text)
    })
}

/// A text as people are shown it: what is not seen is spelled out, what is long is cut.
fn shown(text: &str) -> String {
    let text: String = text.chars().take(900).collect();
    let spelled = |c: char| match c {
        '\n' => c.to_string(),
        c if is_hidden(c) => {
            format!("\\u{{{:x}}}", u32::from(c))
        }
        c => c.to_string(),
    };
    text.chars().map(spelled).collect()
}

fn sound(what: &str, page: &Answer) {
    assert_eq!(strange(&page.body), [""; 0], "{what}");
    assert!(
        page.heads["content-type"].starts_with("text/html"),
        "{what}"
    );
}

/// JSON, which no browser takes for a page.
fn sound_json(what: &str, answer: &Answer) -> Value {
    let raw = |c: char| c != '\n' && c < ' ';
    assert!(!answer.body.contains(raw), "{what}");
    assert!(answer.heads["content-type"].contains("json"), "{what}");
    assert_eq!(answer.heads["x-content-type-options"], "nosniff", "{what}");
    answer.json()
}

#[test]
fn hostile_texts_are_text_at_every_door() {
    let place = team();
    let texts = texts();
    let all: Vec<&str> = texts.iter().map(|one| one.text.as_str()).collect();
    place.orders(&all);
    let server = Served::of(&place);
    let ada = Browser::of(&server, &place, "ada");
    for (at, batch) in texts.chunks(30).enumerate() {
        looked_at(&server, &place, (at, batch), &ada);
    }
    for one in &texts {
        let asked: String = one.text.chars().take(300).collect();
        let asked: String = asked.bytes().map(|byte| format!("%{byte:02X}")).collect();
        sound("what is looked for", &ada.open(&format!("/runs?q={asked}")));
    }
    // The control: the same look finds each atom that would do something.
    let raw = |atom: &str| strange(&format!("<p>{atom}</p>")).is_empty();
    let missed: Vec<&&str> = ATOMS[..15].iter().filter(|atom| raw(atom)).collect();
    assert_eq!(
        missed,
        [
            &"' onmouseover='alert(1)",
            &"\" onfocus=alert(1) autofocus x=\""
        ]
    );
    let broken = format!("<p title=\"{}\">", ATOMS[4]);
    assert_ne!(strange(&broken), [""; 0]);
}

/// A run with these texts, from every side.
fn looked_at(
    server: &Served,
    place: &Workplace,
    (number, texts): (usize, &[Hostile]),
    ada: &Browser<'_>,
) {
    let [asking, bo] = ["ada", "bo"].map(|who| token(place, &format!("{who}{number}"), who, &[]));
    let wanted = json!({ "plan": plan(texts), "again": true });
    let begun = server.ask(&asking, "POST /v1/runs", &wanted).is(201).json();
    let run = begun["run"].as_str().unwrap().to_owned();
    let card = server.card(&asking, &run);
    for page in [
        "/",
        "/runs",
        &format!("/runs/{run}"),
        &format!("/runs/{run}/cards/{card}"),
    ] {
        sound(page, &ada.open(page).is(200));
    }
    sound_json(
        "card",
        &server
            .get(&bo, &format!("/v1/runs/{run}/cards/{card}"))
            .is(200),
    );
    let reason: Vec<&str> = texts[1..].iter().map(|one| one.text.as_str()).collect();
    let no = json!({ "kind": "reject", "card": card, "reason": reason.join(" ") });
    server
        .ask(&bo, &format!("POST /v1/runs/{run}/statements"), &no)
        .is(200);
    server.until(&asking, &run, "rejected");
    for part in ["", "/trace", "/why", "/plan", &format!("/cards/{card}")] {
        let page = ada.open(&format!("/runs/{run}{part}")).is(200);
        sound(part, &page);
    }
    for part in [
        "",
        "/plan",
        "/trace",
        "/why",
        "/events?limit=200",
        &format!("/cards/{card}"),
    ] {
        sound_json(
            part,
            &server
                .get(&asking, &format!("/v1/runs/{run}{part}"))
                .is(200),
        );
    }
    for (at, one) in texts.iter().enumerate() {
        let [output, error] = ["q", "a"].map(|kind| format!("/runs/{run}/steps/{kind}{at}"));
        let as_json = json!(one.text).to_string();
        for (path, text) in [(&output, as_json.as_str()), (&error, &one.text)] {
            let page = ada.open(path).is(200);
            sound(path, &page);
            let (seen, wanted) = (read(&page.body), shown(text));
            assert!(seen.contains(&wanted), "{path} hides {wanted:?}: {seen}");
        }
        let answer = server.get(&asking, &format!("/v1{error}")).is(200);
        let said = sound_json(&error, &answer);
        let message = said["message"].as_str().unwrap();
        let (text, kept) = (one.text.as_str(), message.trim_end_matches('…'));
        assert!(
            text.starts_with(kept) && kept.len() >= text.len().min(900),
            "{message}"
        );
    }
    // The stream says that something changed, and never what.
    let newest = Listening::from(server, &bo, None).next().id;
    let mut stream = Listening::from(server, &bo, Some("0-"));
    loop {
        let sent = stream.next();
        let said = sent.data.to_string();
        assert!(!texts.iter().any(|one| said.contains(&one.mark)), "{said}");
        assert!(["run", "stop"].contains(&sent.kind.as_str()), "{sent:?}");
        if sent.id == newest {
            return;
        }
    }
}
