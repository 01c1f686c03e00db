// What pages gain with script: live parts, keys, local times, a larger graph. Everything else works
// without it. No text of a run is ever turned into markup here: pages come from the server, whole.

// The code of a one-time link stands in the fragment, which no request carries: it is put into
// the form, taken out of the address, and sent only when the button is pressed.
const field = document.querySelector("#link-form #code");
if (field instanceof HTMLInputElement && location.hash.length > 1) {
  field.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}

// The answer to a form is found under another address: what reads it anew asks there.
if (document.body.dataset.foundAt) history.replaceState(null, "", document.body.dataset.foundAt);

const policy = window.trustedTypes?.createPolicy("provost", { createHTML: (page) => page });
const parse = (page) =>
  new DOMParser().parseFromString(policy ? policy.createHTML(page) : page, "text/html");

// Times: local, with UTC on hover; those that count are told by their age.
const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
function age(ms) {
  const seconds = (ms - Date.now()) / 1000;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? units[3];
  return relative.format(Math.round(seconds / size), unit);
}
function tell(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    time.title ||= time.dateTime;
    const isToday = moment.toDateString() === new Date().toDateString();
    const plain = isToday ? moment.toLocaleTimeString() : moment.toLocaleString();
    const words = time.hasAttribute("data-age") ? age(moment.getTime()) : plain;
    if (time.textContent !== words) time.textContent = words;
  }
}

// A patch: what is there is kept and changed where it differs, so that focus, scroll places, open
// parts and half-written answers stay.
const kept = new Set(["INPUT", "TEXTAREA", "SELECT"]);
const key = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.id : "");
function attributes(from, to) {
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    const ours = name === "open" || name === "title" || name === "disabled" || name === "data-ours";
    if (!to.hasAttribute(name) && !ours) from.removeAttribute(name);
  }
}
function patch(from, to) {
  if (from.isEqualNode(to)) return;
  if (from.nodeType !== Node.ELEMENT_NODE) {
    from.nodeValue = to.nodeValue;
    return;
  }
  if (kept.has(from.tagName)) return;
  if (from.tagName === "TIME" && from.dateTime === to.dateTime) return;
  const isOurs = from.hasAttribute("data-ours");
  if (!isOurs) attributes(from, to);
  const known = new Map([...from.children].filter((one) => one.id).map((one) => [one.id, one]));
  let at = from.firstChild;
  for (const next of [...to.childNodes]) {
    const same = key(next) ? known.get(key(next)) : undefined;
    if (same) {
      if (same !== at) from.insertBefore(same, at);
      else at = at.nextSibling;
      patch(same, next);
    } else if (at && !key(at) && at.nodeName === next.nodeName && !key(next)) {
      const after = at.nextSibling;
      patch(at, next);
      at = after;
    } else {
      from.insertBefore(document.importNode(next, true), at);
    }
  }
  while (at) {
    const after = at.nextSibling;
    at.remove();
    at = after;
  }
}

const said = document.querySelector("#live");
const waiting = () => [...document.querySelectorAll("[data-wait]")].map((one) => [one.id, one.dataset.wait]);
let fetching = false;
let again = false;
async function refresh() {
  if (fetching) {
    again = true;
    return;
  }
  fetching = true;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.redirected && new URL(answer.url).pathname === "/login") location.assign("/login");
    if (!answer.ok) return;
    const page = parse(await answer.text());
    const before = new Map(waiting());
    const next = page.querySelector("main");
    const main = document.querySelector("main");
    // Why not what somebody is filling in, or reading to decide: until it was decided elsewhere.
    const decided = decide && !page.querySelector("#decide");
    if (main?.dataset.still !== undefined && !decided) return;
    if (next && main) {
      for (const part of next.querySelectorAll("#said, #card-state > .good")) part.remove();
      for (const part of main.querySelectorAll("#said")) part.remove();
      tell(next);
      patch(main, next);
      begin(main);
    }
    document.title = page.title;
    const fresh = waiting().filter(([id]) => !before.has(id));
    if (fresh.length > 0 && said) said.textContent = `${fresh.map(([, words]) => words).join(", ")} waits`;
  } catch {
    // The server is away: the next look tells.
  } finally {
    fetching = false;
    if (again) {
      again = false;
      soon();
    }
  }
}
let planned = 0;
function soon() {
  if (planned) return;
  planned = setTimeout(() => {
    planned = 0;
    if (document.visibilityState === "visible") refresh();
    else stale = true;
  }, 120);
}
let stale = false;
document.addEventListener("visibilitychange", () => {
  if (stale && document.visibilityState === "visible") {
    stale = false;
    refresh();
  }
});

// One stream for a browser: the tab that holds the lock reads it and passes it on.
const run = document.body.dataset.run;
function heard({ kind, of }) {
  if (kind === "bye") location.reload();
  // Why not on the page of a run: what waits of that run is told by its own events.
  if (run && kind === "waits") return;
  if (!run || !of || of === run) soon();
}
if (document.body.hasAttribute("data-live")) {
  const others = new BroadcastChannel("provost");
  others.onmessage = ({ data }) => heard(data);
  const state = document.querySelector("#live-state");
  const lead = () =>
    new Promise(() => {
      const stream = new EventSource("/v1/events");
      const pass = (kind) => (event) => {
        let of;
        try {
          of = JSON.parse(event.data || "{}").run;
        } catch {
          of = undefined;
        }
        const told = { kind, of };
        others.postMessage(told);
        heard(told);
      };
      for (const kind of ["run", "waits", "stop", "workspace", "reset", "bye"]) {
        stream.addEventListener(kind, pass(kind));
      }
      stream.onopen = () => state && (state.hidden = false);
      stream.onerror = () => {
        if (state) state.hidden = true;
        // A server without a stream, or one that ended: look by ourselves, unhurriedly.
        if (stream.readyState === EventSource.CLOSED) setInterval(() => pass("run")({ data: "" }), 2000);
      };
    });
  if (navigator.locks) navigator.locks.request("provost-stream", lead);
  else lead();
}

// What a page begins with, and what a patch may have added.
function begin(root) {
  tell(root);
  for (const part of document.querySelectorAll(".find[hidden], .tools[hidden], .keys-hint[hidden]")) part.hidden = false;
  for (const part of document.querySelectorAll(".find, .tools, .keys-hint")) part.setAttribute("data-ours", "");
}
begin(document);
setInterval(() => tell(document), 15000);

// A card: its buttons become active once its end was in view.
const end = document.querySelector("#card-end");
const decide = document.querySelector("#decide");
if (end && decide) {
  document.querySelector("main").dataset.still = "";
  const buttons = [...decide.querySelectorAll("button")];
  for (const button of buttons) button.disabled = true;
  new IntersectionObserver((seen, watcher) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    for (const button of buttons) button.disabled = false;
    watcher.disconnect();
  }).observe(end);
  const boxes = [...decide.querySelectorAll("[name=steps]")];
  const yes = document.querySelector("#yes");
  const whole = yes?.textContent;
  decide.addEventListener("change", () => {
    const chosen = boxes.filter((box) => box.checked).length;
    if (!yes || boxes.length === 0) return;
    yes.textContent = chosen === boxes.length ? whole : `Approve ${chosen} of ${boxes.length}; ${boxes.length - chosen} are skipped`;
    yes.disabled = chosen === 0;
  });
}
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", () => setTimeout(() => {
    for (const button of form.querySelectorAll("button")) button.disabled = true;
  }));
}

// The table of steps: find by any word in a row.
document.querySelector("#find")?.addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase();
  for (const row of document.querySelectorAll(".steps tbody tr")) {
    row.hidden = !row.textContent.toLowerCase().includes(words);
    row.setAttribute("data-ours", "");
  }
});

// The graph: larger and smaller.
document.querySelector("#graph-tools")?.addEventListener("click", (event) => {
  const graph = document.querySelector(".graph");
  const how = event.target.dataset?.zoom;
  if (!graph || !how) return;
  const [, , width, height] = graph.getAttribute("viewBox").split(" ").map(Number);
  const now = graph.getBoundingClientRect().width / width;
  const times = how === "in" ? now * 1.3 : now / 1.3;
  graph.setAttribute("data-ours", "");
  graph.classList.toggle("is-wide", how !== "fit");
  graph.setAttribute("width", how === "fit" ? width : Math.round(width * times));
  graph.setAttribute("height", how === "fit" ? height : Math.round(height * times));
});

// Keys: none in fields, none with others held; on a card they only move.
const keys = document.querySelector("#keys");
let first = "";
function move(step) {
  const rows = [...document.querySelectorAll("main .row")].filter((row) => row.offsetParent);
  const at = rows.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step;
  rows[Math.max(0, Math.min(rows.length - 1, next))]?.focus();
}
const go = (selector) => {
  const to = document.querySelector(selector);
  to?.scrollIntoView({ block: "center" });
  // Why again: the buttons of a card become active only once its end has been in view.
  to?.focus();
  if (to?.disabled) setTimeout(() => to.focus(), 100);
};
document.addEventListener("keydown", (event) => {
  const { target } = event;
  const writes = target instanceof HTMLElement && (kept.has(target.tagName) || target.isContentEditable);
  if (event.ctrlKey || event.metaKey || event.altKey || keys?.open) return;
  if (event.key === "Escape" && writes) return target.blur();
  if (writes || !document.body.hasAttribute("data-live")) return;
  const pair = first + event.key;
  first = event.key === "g" ? "g" : "";
  const places = { gi: "/", gr: "/runs" };
  if (places[pair]) return location.assign(places[pair]);
  const does = {
    "?": () => keys?.showModal(),
    j: () => move(1),
    k: () => move(-1),
    n: () => document.querySelector("[data-wait] .row") ? go("[data-wait] .row") : location.assign("/"),
    t: () => run && location.assign(`/runs/${run}/trace`),
    "/": () => go("#find, #q"),
    y: () => go("#yes"),
    x: () => go("#reason"),
    Escape: () => history.back(),
  }[event.key];
  if (!does) return;
  event.preventDefault();
  does();
});
