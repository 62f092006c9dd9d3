// Every view, as it is: seen, tried, held against axe, and kept as a picture.

import { accessible, check, forget, patience, same, still, until, want } from "./check.mjs";
import { hostile, quarantined } from "./world.mjs";

const tabNames = ["Pauses", "Effects", "Artifacts", "Webhooks", "Refused", "Operators", "Receipt", "Streams"];

// Visit is one browser window: a width and a theme.
export class Visit {
  constructor({ name, page, guard, url, caller, folder, receiver }) {
    Object.assign(this, { name, page, guard, url, caller, folder, receiver });
  }

  check(name, run) {
    return check(`${this.name}: ${name}`, async () => {
      const note = await run();
      await this.guard.clean();
      return note;
    });
  }

  // open shows a view and waits until it has what it shows.
  async open(hash, ready) {
    await this.page.goto(`${this.url}/console${hash}`);
    await this.page.locator(ready).first().waitFor();
  }

  openTask(id, tab) {
    return this.open(`#/tasks/${id}${tab ? "?tab=" + tab : ""}`, ".entry");
  }

  async kept(name, options) {
    await this.page.screenshot({ path: `${this.folder}/${this.name.replaceAll(" ", "-")}-${name}.png`, ...options });
  }

  // tab shows one of a task's tabs.
  async tab(name) {
    await this.page.getByRole("tab", { name: new RegExp("^" + name) }).click();
    await this.page.locator(`#tabpanel[aria-labelledby="tab-${name}"]`).waitFor();
  }

  panel = () => this.page.locator("#tabpanel");
}

export async function lists(v, tasks) {
  const { page } = v;
  await v.check("tasks", async () => {
    await v.open("#/tasks", ".tasks tbody a");
    await page.locator(".versions a").first().waitFor();
    await page.locator(".figures", { hasText: /[\d,]+ stuck, held effects apart/ }).waitFor();
    want((await page.locator(".tasks tbody tr").count()) === 100, "a page has 100 rows");
    await page.getByText(/^1–100 of [\d,]+$/).waitFor();
    await accessible(page);
    await v.kept("tasks");
  });
  await v.check("filters", async () => {
    const ids = () => page.locator(".tasks tbody a").allTextContents();
    await page.getByLabel("State").selectOption("input-required");
    await page.getByRole("link", { name: tasks.ask }).waitFor();
    for (const text of await page.locator(".tasks tbody .c0").allTextContents()) same(text, "input-required", "a row's state");
    await page.getByLabel("In it for at least").selectOption("1h");
    await page.getByRole("link", { name: tasks.ask }).waitFor({ state: "detached" });
    await page.locator(".tasks tbody a").first().waitFor();
    want((await ids()).length > 0, "some wait for longer than an hour");
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Answer due within").selectOption("24h");
    await page.getByRole("link", { name: tasks.ask }).waitFor();
    for (const text of await page.locator(".tasks tbody .c0").allTextContents()) same(text, "input-required", "the state of a task whose answer is due within a day");
    await page.getByLabel("Answer due within").selectOption("6h");
    await page.getByRole("link", { name: tasks.ask }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByRole("button", { name: "Stuck only" }).click();
    await page.getByRole("link", { name: tasks.pay }).waitFor();
    for (const text of await page.locator(".tasks tbody .c0").allTextContents()) want(["working", "submitted"].includes(text), `a stuck task is ${text}`);
    await accessible(page);
    await v.kept("stuck");
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Agent and version").selectOption({ label: "desk@9" });
    await page.locator(".tasks tbody a").first().waitFor();
    for (const text of await page.locator(".tasks tbody .c2").allTextContents()) want(text === "desk@9" || text === "", `a row's agent is ${text}`);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Context").fill("conversation-7");
    await page.getByLabel("Context").press("Enter");
    await page.getByText(/^1–\d+ of \d+$/).waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    const chip = page.locator(".versions a", { hasText: "desk@1" });
    await chip.click();
    await page.getByText(/^1–\d+ of \d+$/).waitFor();
  });
  await v.check("pages", async () => {
    const counted = (route) => route.fulfill({ json: { total: 100000, more: true } });
    await page.route("**/console/api/count*", counted);
    await v.open("#/tasks?state=completed", ".tasks tbody a");
    await page.getByText(/^1–100 of at least 100,000$/).waitFor();
    await page.unroute("**/console/api/count*", counted);
    await v.open("#/tasks", ".tasks tbody a");
    const first = await page.locator(".tasks tbody a").allTextContents();
    await page.getByRole("button", { name: "Older" }).click();
    await page.getByText(/^101–200 of/).waitFor();
    const second = await page.locator(".tasks tbody a").allTextContents();
    want(!second.some((id) => first.includes(id)), "a task is on two pages");
    await page.getByRole("button", { name: "Newer" }).click();
    await page.getByText(/^1–100 of/).waitFor();
  });
}

export async function task(v, tasks) {
  const { page } = v;
  await v.check("a task in each of its tabs", async () => {
    await v.openTask(tasks.count, "Artifacts");
    same(await page.locator(".task h1").textContent(), tasks.count, "its heading");
    for (const name of tabNames) {
      await v.tab(name);
      await accessible(page);
      await v.kept("task-" + name.toLowerCase());
    }
    for (const field of ["In state", "Age", "Step", "Waits for", "Lease", "Fence", "Last accepted", "Due", "Agent", "Context", "Submitter", "Ends by", "Counted"]) {
      want((await page.locator(".now dt", { hasText: field }).first().count()) === 1, `there is no ${field}`);
    }
    want((await page.locator(".strip svg .tick").count()) > 1, "the strip has no entries");
    await page.locator(".now dd a").click();
    await page.getByText(/^Submitted by [0-9a-f]+…$/).waitFor();
    await page.locator(".tasks tbody a").first().waitFor();
    await accessible(page);
  });
  await v.check("gaps to scale", async () => {
    await v.openTask(tasks.pay, "Effects");
    const bars = await page.locator(".gap i").evaluateAll((all) => all.map((b) => [Number(b.dataset.ms), b.getBoundingClientRect().width, b.parentElement.getBoundingClientRect().width]));
    const longest = Math.max(...bars.map(([ms]) => ms));
    for (const [ms, width, room] of bars) want(Math.abs(width - Math.max(1, (room * ms) / longest)) < 1.5, `a gap of ${ms} ms of at most ${longest} is ${width} wide of ${room}`);
  });
  await v.check("pauses: question and deadline", async () => {
    await v.openTask(tasks.ask);
    await v.panel().getByText("Which of the two accounts?").waitFor();
    const left = v.panel().locator("[data-until]");
    want(/^in 23 h 5\d m$/.test(await left.textContent()), `the deadline is ${await left.textContent()}`);
    await v.kept("paused");
    await v.openTask(tasks.approve);
    await v.panel().getByText("revoke 14 grants", { exact: false }).first().waitFor();
    await accessible(page);
  });
  await v.check("effects in doubt are marked", async () => {
    await v.openTask(tasks.pay, "Effects");
    await v.panel().locator(".item.doubt").getByText("in doubt", { exact: true }).waitFor();
    await page.locator(".trouble.warn").getByText("Effect transfer is in doubt and held").waitFor();
    await accessible(page);
    await v.kept("in-doubt");
  });
  await v.check("artifacts: open, with a preview", async () => {
    await v.openTask(tasks.draft, "Artifacts");
    await v.panel().getByText("not complete").waitFor();
    await v.panel().getByRole("button", { name: "Preview" }).click();
    await v.panel().locator(".preview").getByText("Dear Ada").waitFor();
    await accessible(page);
  });
  await v.check("webhooks: each attempt", async () => {
    await v.openTask(tasks.count, "Webhooks");
    await v.panel().locator("tbody tr").first().waitFor();
    await v.panel().getByText("500").first().waitFor();
  });
  await v.check("rejections, lookup hits, incidents, quarantine", async () => {
    await v.openTask(tasks.late, "Refused");
    await v.panel().getByText("1 incident").waitFor();
    await v.panel().getByText("1 repeated event was answered").waitFor();
    await v.panel().getByText("post-terminal", { exact: true }).waitFor();
    await v.panel().getByText("1 piece of output came after").waitFor();
    await v.panel().getByRole("button", { name: "Show" }).click();
    await v.panel().locator(".block").getByText("<script>").waitFor();
    await harmless(v);
    await accessible(page);
    await v.kept("quarantine");
  });
  await v.check("terminal receipt and chain", async () => {
    await v.openTask(tasks.hostile, "Receipt");
    await v.panel().getByText("Terminal receipt").waitFor();
    await v.panel().getByText(/Nothing is broken in \d+ entries/).waitFor();
    await v.kept("receipt");
  });
  await v.check("no such task", async () => {
    v.guard.expect(404);
    await v.open("#/tasks/00000000-0000-7000-8000-000000000000", ".error");
    await page.getByText("There is no such task").waitFor();
    v.guard.expect(404);
    await v.open("#/health", ".plots figure");
    await v.open("#/tasks/%", ".error"); // no escape that there is
    await page.getByText("There is no such task").waitFor();
  });
}

// harmless wants that nothing of a hostile text became anything but text.
async function harmless(v) {
  const found = await v.page.evaluate(() => ({
    hurt: window.hurt, scripts: document.querySelectorAll("main script, main img, dialog img").length,
    hidden: /[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u001b\u0007]|\u{e0041}/u.test(document.documentElement.innerHTML + document.title),
  }));
  same(found, { scripts: 0, hidden: false }, "what the text did");
}

export async function hostileTexts(v, tasks) {
  const { page } = v;
  await v.check("script tags and right-to-left overrides are text", async () => {
    await v.openTask(tasks.hostile, "Artifacts");
    for (const name of tabNames) {
      await v.tab(name);
      await harmless(v);
    }
    await v.tab("Artifacts");
    await v.panel().getByRole("button", { name: "Preview" }).click();
    const shown = v.panel().locator(".preview .block");
    await shown.waitFor();
    const text = await shown.textContent();
    want(text.includes("<script>window.hurt = 1</script>"), `it reads ${text}`);
    for (const mark of ["U+202E", "U+202C", "U+2066", "U+2069", "U+001B", "U+0007", "U+200B", "U+E0041"]) want((await shown.locator(".ctl", { hasText: mark }).count()) > 0, `${mark} is not shown`);
    want((await shown.locator("bdi").count()) === 1 && (await shown.locator("bdi").evaluate((b) => getComputedStyle(b).unicodeBidi)) === "isolate", "the text is not isolated");
    want((await page.locator(".entry .words", { hasText: "<script>" }).count()) > 0, "the timeline has no words of it");
    await harmless(v);
    await accessible(page);
    await v.kept("hostile");
  });
  await v.check("the policy holds: nothing else can run", async () => {
    const refused = await page.evaluate(() => {
      const out = [];
      const attempt = (name, run) => {
        try {
          run();
          out.push(name);
        } catch {
          // as it should be
        }
      };
      attempt("innerHTML", () => (document.createElement("div").innerHTML = "<b>x</b>"));
      attempt("a script", () => (document.createElement("script").text = "window.hurt = 3"));
      attempt("a handler", () => document.createElement("b").setAttribute("onclick", "window.hurt = 4"));
      return out;
    });
    same(refused, [], "what could be done");
    await page.evaluate(() => {
      document.body.setAttribute("style", "color: red");
      document.body.removeAttribute("style");
    });
    await page.waitForFunction(() => window.violations.length >= 4);
    const violations = await page.evaluate(() => window.violations.splice(0));
    same(violations.map((x) => x.split(":")[0]).sort(), ["require-trusted-types-for", "require-trusted-types-for", "require-trusted-types-for", "style-src-attr"], "what was reported");
    const [markup, script, style] = [/^error: .*'TrustedHTML'/, /^error: .*'TrustedScript'/, /^error: .*inline style .*'style-src 'self''/];
    v.guard.expect(markup, script, script, style);
  });
}

export async function health(v) {
  const { page } = v;
  await v.check("health: a light each, the tasks behind it, ages and rates", async () => {
    await v.open("#/health", ".plots figure");
    // The server's sweep does not come, some of its tasks are stuck, and one said two things.
    const red = (name) => page.locator(".light.is-red", { hasText: name });
    for (const name of ["Tasks past due without a lease", "Effects in doubt", "Conflicting content"]) await red(name).locator(".names a").first().waitFor();
    want((await page.locator(".light").count()) >= 16 && (await page.locator(".light.is-green").count()) > 3, "the lights");
    await page.locator(".gist").getByText(/lights are not green/).waitFor();
    want((await red("Effects in doubt").getByText("infra/RUNBOOK.md#effect-in-doubt").count()) === 1, "a light has no section of the runbook");
    want((await page.locator("figure svg.plot").count()) === 5, "five rates are plotted");
    want((await page.locator(".histogram").count()) === 4, "ages of four states are plotted");
    await page.getByRole("cell", { name: "not deployed" }).waitFor();
    await page.getByText("Stuck without those that wait for a held effect").waitFor();
    await accessible(page);
    await v.kept("health", { fullPage: true });
    await red("Tasks past due").locator(".names a").first().click();
    await page.locator(".trouble.warn").waitFor();
  });
}

// live wants that a task that goes on is followed, and nothing moves meanwhile.
export async function live(v, tasks) {
  const { page } = v;
  await v.check("live, and nothing moves", async () => {
    await v.openTask(tasks.count, "Artifacts");
    await page.locator(".live.on").waitFor();
    const last = () => page.locator(".entry").last().getAttribute("data-seq").then(Number);
    await v.panel().getByText("not complete").waitFor();
    await forget(page);
    const from = await last();
    await page.waitForFunction((n) => Number([...document.querySelectorAll(".entry")].at(-1).dataset.seq) >= n, from + 10, { timeout: 20000 * patience });
    await still(page);
    const scroller = page.locator(".timeline .scroll");
    want(await scroller.evaluate((s) => s.scrollHeight - s.scrollTop - s.clientHeight < 60), "the latest entry is not in sight");
    return `${(await last()) - from} entries`;
  });
  await v.check("the list is brought up to date where it stands", async () => {
    await v.open("#/tasks?state=live", ".tasks tbody a");
    await page.locator(".versions a").first().waitFor();
    await page.getByText(/^1–/).waitFor();
    await forget(page);
    const before = await page.locator(".tasks tbody a").allTextContents();
    const fresh = await v.caller.send("ask Anything else?");
    await page.getByRole("button", { name: /^Refresh: .*new/ }).waitFor({ timeout: 15000 * patience });
    await still(page);
    same(await page.locator(".tasks tbody a").allTextContents(), before, "the rows");
    await page.getByRole("button", { name: /^Refresh/ }).click();
    await page.getByRole("link", { name: fresh }).waitFor();
  });
  // hold takes the requests for an address, for a check that answers them.
  async function hold(path, run) {
    const held = [];
    try {
      await page.route((url) => url.pathname === path, (route) => void held.push(route));
      await run(held, (n) => until(() => held.length >= n, `${n} requests for ${path} were not made`));
    } finally {
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await Promise.allSettled(held.map((route) => route.continue()));
    }
  }
  await v.check("a server that is slow is asked one thing at a time", async () => {
    await hold("/console/api/tasks/" + tasks.count, async (held, asked) => {
      await page.goto(`${v.url}/console#/tasks/${tasks.count}`);
      let seq = 0;
      for (let i = 0; i < 4; i++) {
        await asked(1);
        let answer;
        await until(async () => {
          answer = await held[0].fetch();
          return (await answer.json()).head.seq > seq;
        }, "the task does not go on");
        seq = (await answer.json()).head.seq + 4; // of each, the stream tells the page
        same(held.length, 1, "questions that were open at once");
        await held.shift().fulfill({ response: answer });
      }
    });
    await page.locator(".entry").first().waitFor();
  });
  await v.check("pages are turned one at a time, and no answer comes behind a later one", async () => {
    await v.open("#/tasks", ".tasks[aria-busy=false] tbody a");
    await hold("/console/api/tasks", async (held, asked) => {
      for (const key of ["n", "n", "p", "n"]) await page.keyboard.press(key);
      await asked(1);
      await Promise.all(held.splice(0).map((route) => route.continue()));
      await page.getByText(/^101–200 of/).waitFor();
      // The list asks what is new; before it is told, the page is read again.
      await asked(1);
      await page.keyboard.press("r");
      await asked(2);
      const [poll, load] = held.splice(0);
      await load.continue();
      await page.locator("#says").getByText("Refreshed.").waitFor();
      const finished = page.waitForEvent("requestfinished", (r) => r === poll.request());
      await poll.fulfill({ json: { rows: [] } });
      await finished;
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
      same([await page.locator("tr.left").count(), await page.locator(".news").textContent()], [0, ""], "rows that are said to have moved on");
      // A page that cannot be read is not the end.
      v.guard.expect(503);
      await page.keyboard.press("n");
      await asked(1);
      await held.pop().fulfill({ status: 503, json: { error: { reason: "UNAVAILABLE", message: "Not now." } } });
      await page.locator(".tasks[aria-busy=false] .error").getByText("Not now.").waitFor();
    });
    await page.keyboard.press("p");
    await page.getByText(/^101–200 of/).waitFor();
  });
}

export { hostile, quarantined };
