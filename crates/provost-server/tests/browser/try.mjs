import { Stage, faults } from "./stage.mjs";
const stage = await Stage.of("sla");
const shots = process.env.SHOTS;
try {
  const page = await stage.browser();
  await page.goto(stage.link);
  await page.screenshot({ path: `${shots}/login.png` });
  await stage.enter(page);
  await page.screenshot({ path: `${shots}/inbox-empty.png` });
  console.log("empty", await faults(page));
  await page.goto(`${stage.origin}/runs/new`);
  await page.fill("#goal", "Page the on-call engineer if open PAY tickets exceed the SLA threshold");
  await page.screenshot({ path: `${shots}/new.png`, fullPage: true });
  console.log("new", await faults(page));
  await page.click("text=Begin");
  await page.waitForURL(/\/runs\/[a-z2-7]+$/);
  await page.waitForSelector("#waits .wait");
  const run = page.url();
  await page.screenshot({ path: `${shots}/run-waits.png`, fullPage: true });
  console.log("run", await faults(page));
  for (const part of ["/plan", "/trace", "/why", "/steps/page", "/steps/count"]) {
    await page.goto(run + part);
    await page.screenshot({ path: `${shots}/run${part.replaceAll("/", "-")}.png`, fullPage: true });
    console.log(part, await faults(page));
  }
  for (const part of ["/", "/runs", "/tools", "/people", "/me", "/nowhere"]) {
    await page.goto(stage.origin + part);
    await page.screenshot({ path: `${shots}/top${part.replaceAll("/", "-")}.png`, fullPage: true });
    console.log(part, await faults(page));
  }
  await page.goto(run);
  await page.click("#waits .row");
  await page.waitForSelector("#yes");
  await page.screenshot({ path: `${shots}/card.png`, fullPage: true });
  console.log("card", await faults(page));
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: `${shots}/card-dark.png`, fullPage: true });
  console.log("card dark", await faults(page));
  await page.setViewportSize({ width: 390, height: 844 });
  await page.screenshot({ path: `${shots}/card-phone.png`, fullPage: true });
  await page.goto(run);
  await page.screenshot({ path: `${shots}/run-phone.png`, fullPage: true });
  await page.setViewportSize({ width: 1200, height: 800 });
  await page.goto(run);
  await page.click("#waits .row");
  await page.click("#yes");
  await page.waitForURL(/said=/);
  await page.screenshot({ path: `${shots}/card-said.png`, fullPage: true });
  await page.goto(run);
  await page.waitForSelector("#ending .panel");
  await page.screenshot({ path: `${shots}/run-done-dark.png`, fullPage: true });
  console.log("done", await faults(page), JSON.stringify(await stage.pages()).slice(0, 300));
  console.log("wrong", page.wrong, stage.said);
} catch (error) { console.log(error, stage.said); } finally { await stage.end(); }
