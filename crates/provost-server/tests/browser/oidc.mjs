// Signing in with a provider that others wrote, in a real browser: `scripts/full oidc`. The provider
// is `oidc-provider` of npm with its own rules; it puts addresses beside the token, as the standard
// has it, and changes its key between two logins.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Stage, faults } from "./stage.mjs";

const modules = join(process.env.PAGES_MODULES, "oidc-provider/lib/index.js");
const { Provider } = await import(pathToFileURL(modules));
const CLIENT = { id: "provost", secret: "a secret/of+the client:%" };
process.env.PROVOST_OIDC_SECRET = CLIENT.secret;

const ACCOUNTS = {
  "account-1": { email: "ada@acme.example", email_verified: true },
  "account-2": { email: "bo@acme.example", email_verified: true },
  "account-3": { email: "eve@acme.example", email_verified: true },
  "account-4": { email: "ada@acme.example", email_verified: true },
  "account-5": { email: "chi@acme.example", email_verified: false },
};
const running = [];
after(() => Promise.all(running.map((end) => end())));

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

function rsaKey(kid) {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "RS256" };
}

// A provider at a port of its own. `account` is who signs in next; there is no form to fill.
class OpenId {
  async listen() {
    this.server = createServer((request, response) => this.answer(request, response));
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
    this.issuer = `http://127.0.0.1:${this.server.address().port}`;
    running.push(() => {
      this.server.closeAllConnections();
      return new Promise((done) => this.server.close(done));
    });
  }

  begin(redirect, kid) {
    const configuration = {
      clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [redirect] }],
      jwks: { keys: [rsaKey(kid)] },
      claims: { openid: ["sub"], email: ["email", "email_verified"] },
      cookies: { keys: ["of the test"] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
      findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...ACCOUNTS[id] }) }),
      // What is asked for is granted: this is about who signs in, not about what they allow.
      loadExistingGrant: async (context) => {
        const { session, provider, client } = context.oidc;
        const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
        grant.addOIDCScope("openid email");
        await grant.save();
        return grant;
      },
    };
    this.provider = new Provider(this.issuer, configuration);
    this.callback = this.provider.callback();
  }

  async answer(request, response) {
    if (!request.url.startsWith("/interaction/")) return this.callback(request, response);
    if (this.denied) {
      return this.provider.interactionFinished(request, response, { error: "access_denied" });
    }
    const login = { accountId: this.account };
    return this.provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false });
  }
}

test("people sign in with a provider of others, each as themselves", async () => {
  const openid = new OpenId();
  await openid.listen();
  const port = await freePort();
  openid.begin(`http://127.0.0.1:${port}/login/oidc/back`, "first");
  const login =
    `\n[server.login]\nkind = "oidc"\nissuer = "${openid.issuer}"\nclient = "${CLIENT.id}"\n` +
    'secret = "env:PROVOST_OIDC_SECRET"\nname = "email"\n';
  const users = { ada: {}, "ada@acme.example": {}, "bo@acme.example": { groups: ["finance"] }, "chi@acme.example": {} };
  const place = await Stage.of("refund", {
    listen: `127.0.0.1:${port}`,
    others: [openid.issuer],
    patch: (text) => text + login,
    people: { users },
  });
  running.push(() => place.end());

  async function enter(account) {
    openid.account = account;
    const page = await place.browser();
    await page.goto(`${place.origin}/login`);
    assert.deepEqual(await faults(page), []);
    await page.click("#provider");
    await page.waitForLoadState();
    return page;
  }

  const ada = await enter("account-1");
  assert.equal(ada.url(), `${place.origin}/`, "a whole login ends at the inbox");
  assert.match(await ada.innerText("header"), /ada@acme\.example/);
  await ada.goto(`${place.origin}/me`);
  assert.match(await ada.innerText("main"), /oidc/);
  // The address of the way back, once more: it counted once.
  const bo = await enter("account-2");
  assert.match(await bo.innerText("header"), /bo@acme\.example/);

  // The key of the provider changes: the next login is verified with the new one.
  openid.begin(`http://127.0.0.1:${port}/login/oidc/back`, "second");
  const again = await enter("account-1");
  assert.match(await again.innerText("header"), /ada@acme\.example/);

  for (const [account, words] of [
    ["account-3", /`eve@acme\.example` is not listed/],
    ["account-4", /signed in with another account/],
    ["account-5", /an address that is not verified/],
  ]) {
    const page = await enter(account);
    assert.match(await page.innerText("main"), words, account);
    assert.deepEqual(await faults(page), [], account);
    await page.goto(`${place.origin}/runs`);
    assert.equal(page.url(), `${place.origin}/login`, `${account} sees nothing`);
  }
  openid.denied = true;
  const denied = await enter("account-1");
  assert.match(await denied.innerText("main"), /the provider says `access_denied`/);
  for (const page of [ada, bo, again, denied]) assert.deepEqual(page.wrong, []);
});
