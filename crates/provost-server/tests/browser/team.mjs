// A team in browsers of their own: `scripts/full pages`. ada asks for a large refund, which two people
// of finance have to approve: bo on a phone by touch, chi by keys alone. Who asked may not approve,
// one yes is not two, and who is not listed sees nothing. The shop's ledger says what was done.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { Stage, faults } from "./stage.mjs";

const GOAL = "Refund 200000 cents of pay-3 for PAY-2";
const REFUND = "POST /refunds";
let place;
after(() => place?.end());

async function sound(page, name) {
  assert.deepEqual(await faults(page), [], name);
  assert.deepEqual(page.wrong, [], name);
}

test("a refund that two people approve, on a phone and by keys, and nobody else", async () => {
  place = await Stage.of("refund");
  const ada = await place.browser();
  await place.enterAs(ada, "ada");
  await ada.goto(`${place.origin}/runs/new`);
  await ada.fill("#goal", GOAL);
  await ada.click("main button.primary");
  await ada.waitForURL(/\/runs\/[a-z2-7]+$/);
  const run = ada.url();
  await ada.waitForSelector("#waits .wait");

  // Who asked sees the card, and why it is not theirs; there is nothing to press.
  await ada.click("#waits .row");
  await ada.waitForSelector("#question");
  const card = ada.url();
  assert.match(await ada.innerText("main"), /not you/i);
  assert.equal(await ada.locator("#decide").count(), 0);
  await sound(ada, "the card of who asked");

  // bo, on a phone, by touch.
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
  const bo = await place.browser(phone);
  await place.enterAs(bo, "bo");
  await bo.tap("#waits .row");
  await bo.waitForSelector("#decide");
  assert.equal(bo.url(), card);
  const said = await bo.innerText("main");
  for (const words of [/200000/, /pay-3/, /two people|2 people|2 of/i, /large-refund/]) {
    assert.match(said, words);
  }
  const width = await bo.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 390, `${width} wide`);
  await bo.locator("#yes").scrollIntoViewIfNeeded();
  await bo.waitForSelector("#yes:enabled");
  await sound(bo, "phone");
  await bo.tap("#yes");
  await bo.waitForURL(/said=taken/);
  assert.equal(await place.sent(REFUND), 0, "one yes is not two");
  await bo.goto(card);
  assert.equal(await bo.locator("#decide").count(), 0, "nobody says yes twice");

  // chi, by keys alone.
  const chi = await place.browser();
  await place.enterAs(chi, "chi");
  await chi.waitForSelector("#waits .row");
  await chi.keyboard.press("n");
  await chi.keyboard.press("Enter");
  await chi.waitForSelector("#decide");
  assert.match(await chi.innerText("main"), /said yes\s+1 of 2: bo/i);
  await sound(chi, "the second yes");
  await chi.keyboard.press("y");
  await chi.waitForFunction(() => document.activeElement?.id === "yes");
  assert.equal(await place.sent(REFUND), 0, "the key only moves there");
  await chi.keyboard.press("Enter");
  await chi.waitForURL(/said=taken/);

  // The page that ada has open hears of it, and the shop gave the money back once.
  await ada.goto(run);
  await ada.waitForSelector("#ending .claim");
  assert.match(await ada.innerText("#ending"), /Refunded 200000 cents of pay-3/);
  assert.equal(await place.sent(REFUND), 1);
  await ada.goto(`${run}/trace`);
  const trace = await ada.innerText("main");
  assert.match(trace, /by bo, on the page by link/);
  assert.match(trace, /by chi, on the page by link/);
  for (const page of [ada, bo, chi]) assert.deepEqual(page.wrong, []);
});

test("who is not listed sees nothing", async () => {
  // Why by the file: whoever invites reads it now, and the server read it when it began.
  const file = join(place.place, "policies/entities.json");
  const people = JSON.parse(readFileSync(file, "utf8"));
  people.users.eve = {};
  writeFileSync(file, JSON.stringify(people));
  const eve = await place.browser();
  await place.enterAs(eve, "eve");
  assert.match(await eve.innerText("main"), /`eve` is not listed/);
  await sound(eve, "unlisted");
  for (const part of ["", "runs", "people", "tools", "me"]) {
    await eve.goto(`${place.origin}/${part}`);
    assert.equal(eve.url(), `${place.origin}/login`, part);
  }
});
