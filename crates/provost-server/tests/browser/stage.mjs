// A stage for the pages: a copy of an example, its simulated world, the server, and Chromium.
//
// Owns processes and directories of one test. Says nothing about what the pages should show.
// INVARIANT: what a stage started ends with it, and no page of it made a request elsewhere.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

// The packages stand where `scripts/full pages` installs them.
const require = createRequire(`${process.env.PAGES_MODULES}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const repository = resolve(import.meta.dirname, "../../../..");
const { PROVOST, WORLD } = process.env;

function lines(process_) {
  let text = "";
  let said = "";
  process_.stderr.on("data", (bytes) => (said += bytes));
  const waiting = [];
  process_.stdout.on("data", (bytes) => {
    text += bytes;
    for (const look of [...waiting]) look();
  });
  return (pattern) =>
    new Promise((done, failed) => {
      const look = () => {
        const found = text.match(pattern);
        if (found) done(found);
      };
      waiting.push(look);
      process_.on("exit", (code) => failed(new Error(`ended with ${code}: ${text}${said}`)));
      look();
    });
}

export class Stage {
  static async of(example, options = {}) {
    const { patch = (text) => text, listen = "127.0.0.1:0", others = [], people } = options;
    const stage = new Stage();
    Object.assign(stage, { listen, others });
    stage.dir = mkdtempSync(join(tmpdir(), "provost-pages-"));
    stage.place = join(stage.dir, example);
    cpSync(join(repository, "examples", example), stage.place, {
      recursive: true,
      filter: (path) => !path.endsWith(".provost"),
    });
    stage.world = spawn(WORLD, ["--listen", "127.0.0.1:0", "--state", join(stage.dir, "world.json")]);
    [, stage.pager] = await lines(stage.world)(/listening on (\S+)/);
    const config = join(stage.place, "provost.toml");
    const text = readFileSync(config, "utf8").replaceAll("http://127.0.0.1:4517", stage.pager);
    writeFileSync(config, patch(text));
    const listed = join(stage.place, "policies/entities.json");
    if (people) writeFileSync(listed, JSON.stringify(people));
    // Why: the copy names another pager than the lock does.
    rmSync(join(stage.place, "provost.lock"), { force: true });
    await stage.command("tools", "lock").catch(() => undefined);
    await stage.serve();
    return stage;
  }

  command(...args) {
    return new Promise((done, failed) => {
      const ran = spawn(PROVOST, ["-C", this.place, ...args], { stdio: ["ignore", "pipe", "pipe"] });
      let out = "";
      ran.stdout.on("data", (bytes) => (out += bytes));
      ran.stderr.on("data", (bytes) => (out += bytes));
      ran.on("exit", (code) => (code === 0 ? done(out) : failed(new Error(`${args}: ${code}: ${out}`))));
    });
  }

  async serve() {
    this.server = spawn(PROVOST, ["-C", this.place, "serve", "--listen", this.listen]);
    this.server.stderr.on("data", (bytes) => (this.said = `${this.said ?? ""}${bytes}`));
    [this.link] = await lines(this.server)(/http:\/\/\S+/);
    this.origin = new URL(this.link).origin;
  }

  async browser(options = {}) {
    this.chromium ??= await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
      ],
    });
    const context = await this.chromium.newContext({ viewport: { width: 1200, height: 800 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.wrong = [];
    page.on("console", (told) => {
      const words = `${told.text()} ${told.location()?.url ?? ""}`;
      if (/Content Security Policy|Trusted/i.test(words)) page.wrong.push(words);
    });
    page.on("pageerror", (error) => page.wrong.push(String(error)));
    page.on("dialog", (dialog) => {
      page.wrong.push(`a dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on("request", (request) => {
      const known = [this.origin, ...this.others];
      if (!known.some((one) => request.url().startsWith(one))) page.wrong.push(`a request to ${request.url()}`);
    });
    return page;
  }

  // Signs in with the one-time link; the code is typed where no script puts it there.
  async enter(page, scripted = true) {
    await page.goto(this.link);
    if (!scripted) await page.fill("#code", decodeURIComponent(new URL(this.link).hash.slice(1)));
    await page.click("#link-form button");
    await page.waitForURL(`${this.origin}/`);
  }

  // Signs a person of a team in, by a link of their own.
  async enterAs(page, name) {
    const link = (await this.command("invite", name)).match(/http:\S+/)[0];
    await page.goto(link);
    await page.click("#link-form button");
    await page.waitForLoadState();
  }

  // Runs a plan to its end, and gives the id of the run.
  async ran(plan) {
    const file = join(this.dir, "plan.json");
    writeFileSync(file, JSON.stringify(plan));
    const said = await this.command("apply", file, "--json");
    return said.match(/^run ([a-z2-7]+)/m)[1];
  }

  // How often the world was made to do this, as its ledger has it: to send a page, if nothing else.
  async sent(route = "POST /pages") {
    const answer = await fetch(`${this.pager}/ledger`);
    const { calls } = await answer.json();
    return calls.filter((call) => call.route === route && call.effect).length;
  }

  async end() {
    await this.chromium?.close();
    this.server?.kill("SIGTERM");
    this.world?.kill("SIGTERM");
    rmSync(this.dir, { recursive: true, force: true });
  }
}

// Texts in the colour of the ground, which is behind every text where the colours are the person's
// own: axe looks at the colour that the author put there.
export async function unseen(page) {
  return await page.evaluate(() => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.className = "probe";
    const colour = (of) => getComputedStyle(of).color;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(".probe { color: Canvas; }");
    document.adoptedStyleSheets.push(sheet);
    const ground = colour(probe);
    document.adoptedStyleSheets.pop();
    probe.remove();
    const says = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const all = [...document.body.querySelectorAll("*")].filter((one) => says(one) && one.checkVisibility());
    const lost = all.filter((one) => colour(one) === ground && !(one instanceof SVGElement));
    return lost.map((one) => `${one.tagName}: ${one.textContent.trim()}`);
  });
}

// What axe finds in the page as it is now, in short. Why by the debugger: the page's own policy
// refuses a script that is put into it, as it should.
export async function faults(page) {
  const session = await page.context().newCDPSession(page);
  const run = `axe.run(document, { resultTypes: ["violations"] }).then((found) =>
    JSON.stringify(found.violations.map((one) => one.id + ": " +
      one.nodes.map((node) => node.target + " " + node.failureSummary).join(" | "))))`;
  await session.send("Runtime.evaluate", { expression: axe });
  const { result } = await session.send("Runtime.evaluate", {
    expression: run,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  return JSON.parse(result.value);
}
