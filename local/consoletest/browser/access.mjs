// Signing in, what a key may do, and that it is nowhere but where it must be. Then speed.

import { accessible, check, figure, same, want, watch } from "./check.mjs";
import { Caller } from "./world.mjs";
import { Visit } from "./views.mjs";
import { acts } from "./acts.mjs";

export async function access(browser, { keysUrl, keys, folder, receiver }) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true });
  const page = await context.newPage();
  const guard = await watch(page, keysUrl);
  const caller = new Caller(keysUrl, keys.caller);
  const v = new Visit({ name: "keys", page, guard, url: keysUrl, caller, folder, receiver });
  const id = await caller.send("ask Which?");
  await caller.until(id, "TASK_STATE_INPUT_REQUIRED");
  const signIn = async (key) => {
    await page.getByLabel("API key or access token").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  await v.check("sign in", async () => {
    guard.expect(401, 401, 403); // without a key, with no key, and with a caller's
    await v.open("#/tasks", "#key");
    await accessible(page);
    await v.kept("sign-in");
    await signIn("x".repeat(40));
    await page.getByRole("alert").getByText("not taken here").waitFor();
    await signIn(keys.caller);
    await page.getByRole("alert").getByText("This needs the scope operator:read.").waitFor();
    await signIn(keys.reader);
    await page.getByText("reading as").waitFor();
    await page.getByRole("link", { name: id }).waitFor();
  });
  await v.check("who may read may not act", async () => {
    guard.expect(403);
    await v.openTask(id);
    for (const name of ["Answer…", "Resume…", "Cancel…"]) want(await page.getByRole("button", { name }).isDisabled(), `a reader may press ${name}`);
    want(await page.getByRole("button", { name: "Export" }).isEnabled(), "a reader may not export");
    const answer = await page.evaluate(async ([task, key]) => (await fetch(`console/api/tasks/${task}/cancel`, { method: "POST", headers: { Authorization: "Bearer " + key, "Content-Type": "application/json" }, body: '{"note":""}' })).status, [id, keys.reader]);
    same(answer, 403, "the answer to a reader's cancel");
    await page.locator(".live.on").waitFor(); // the stream takes operators too
  });
  await v.check("the key is in this tab alone", async () => {
    const kept = await page.evaluate((key) => ({
      local: JSON.stringify(localStorage).includes(key), cookies: document.cookie, address: location.href.includes(key), page: document.documentElement.outerHTML.includes(key), session: Object.values(sessionStorage).includes(key),
    }), keys.reader);
    same(kept, { local: false, cookies: "", address: false, page: false, session: true }, "where the key is");
    same(await context.cookies(), [], "cookies");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key or access token").waitFor();
    same(await page.evaluate(() => sessionStorage.length), 0, "what is kept after signing out");
  });
  await signIn(keys.operator);
  await page.getByText("as key:night").waitFor();
  await acts(v, "key:night");
  await v.check("another tenant's task is not there", async () => {
    guard.expect(404, 404); // the task that the operator has looked at, and this one
    await page.getByRole("button", { name: "Sign out" }).click();
    await signIn(keys.stranger);
    await page.locator(".who", { hasText: "tenant other" }).waitFor();
    await page.getByText("There is no such task").waitFor();
    await v.open("#/tasks/" + id, ".error");
    await page.getByText("There is no such task").waitFor();
  });
  await context.close();
}

// speed measures the list of ten thousand tasks.
export async function speed(browser, bigUrl, total) {
  await check("ten thousand tasks", async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    const guard = await watch(page, bigUrl);
    const paints = [];
    const lists = [];
    for (let i = 0; i < 5; i++) {
      await page.goto("about:blank");
      await page.goto(`${bigUrl}/console#/tasks`);
      await page.locator(".tasks tbody a").first().waitFor();
      paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
      lists.push(await page.evaluate(() => performance.getEntriesByName("listed")[0].startTime));
    }
    await page.getByText("1–100 of " + total.toLocaleString("en")).waitFor();
    figure("first paint", median(paints));
    figure("list of " + total, median(lists));
    for (const [name, filter] of Object.entries({
      state: "state=failed", live: "state=live", "age in state": "older=24h&state=live", "agent and version": "agent=desk&version=1", "a version with few tasks": "agent=desk&version=9", context: "context=conversation-7", stuck: "stuck=1",
    })) {
      const times = [];
      for (let i = 0; i < 5; i++) {
        await page.evaluate(() => (location.hash = "#/tasks"));
        await page.locator(".tasks[aria-busy=false]").waitFor();
        times.push(await page.evaluate((q) => new Promise((done) => {
          const began = performance.now();
          performance.clearMarks("listed");
          new PerformanceObserver((list, o) => {
            if (list.getEntriesByName("listed").length === 0) return;
            o.disconnect();
            requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
          }).observe({ type: "mark" });
          location.hash = "#/tasks?" + q;
        }), filter));
      }
      figure("filter: " + name, median(times));
    }
    await guard.clean();
    await context.close();
  });
}

const median = (list) => Math.round(list.sort((a, b) => a - b)[Math.floor(list.length / 2)]);
