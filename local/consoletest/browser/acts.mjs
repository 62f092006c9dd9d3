// Every action, through its dialog, and what it left in the ledger.

import { readFile } from "node:fs/promises";
import { accessible, same, want } from "./check.mjs";

// acted wants an action on record, and the dialog gone.
async function acted(v, what, by) {
  await v.page.locator("dialog").waitFor({ state: "detached" });
  await v.tab("Operators");
  const line = v.panel().locator(".log li").last();
  await line.getByText(what.split(":")[0], { exact: true }).waitFor();
  const text = await line.textContent();
  want(text.includes(what.split(":").slice(1).join(":")) && text.includes("by " + by), `on record is "${text}", want ${what} by ${by}`);
}

export async function acts(v, by = "local") {
  const { page, caller } = v;
  const says = (text) => page.locator("#says").getByText(text).waitFor();
  const dialog = page.locator("dialog");

  // held is a task that waits for an operator, and does nothing by itself meanwhile.
  async function held(text) {
    const id = await caller.send(text);
    await v.openTask(id);
    await page.locator(".entry", { hasText: "held for an operator" }).waitFor();
    return id;
  }

  await v.check("answer", async () => {
    const id = await caller.send("ask Which of the two?");
    await caller.until(id, "TASK_STATE_INPUT_REQUIRED");
    await v.openTask(id);
    await v.panel().getByRole("button", { name: "Answer it…" }).click();
    await dialog.getByText("Which of the two?").waitFor();
    await accessible(page);
    await v.kept("answer");
    await dialog.getByLabel("Answer").fill("The <b>second</b>.");
    await dialog.getByRole("button", { name: "Answer", exact: true }).click();
    await says("The answer is committed");
    const task = await caller.until(id, "TASK_STATE_COMPLETED");
    want(JSON.stringify(task.history).includes("The <b>second</b>."), "callers do not see the answer");
    await acted(v, "answer:pause 1", by);
    await page.locator(".head .badge", { hasText: "completed" }).waitFor();
    await page.locator(".entry", { hasText: "an operator (" }).first().waitFor();
  });
  await v.check("cancel", async () => {
    const id = await caller.send("count 400");
    await caller.until(id, "TASK_STATE_WORKING");
    await v.openTask(id);
    await page.getByRole("button", { name: "Cancel…" }).click();
    await dialog.getByLabel("Why").fill("the customer called");
    await accessible(page);
    await v.kept("cancel");
    await dialog.getByRole("button", { name: "Not now" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("c");
    await dialog.getByLabel("Why").fill("the customer called");
    await page.keyboard.press("Enter");
    await caller.until(id, "TASK_STATE_CANCELED");
    await acted(v, "cancel:the customer called", by);
    await page.locator(".head .badge", { hasText: "canceled" }).waitFor();
    want(await page.getByRole("button", { name: "Cancel…" }).isDisabled(), "an ended task can be canceled");
  });
  await v.check("settle: it was done", async () => {
    const id = await held("pay 120 EUR to Ada");
    await v.openTask(id, "Effects");
    await v.panel().getByRole("button", { name: "Settle it…" }).click();
    await dialog.getByLabel("It was done.").check();
    await dialog.getByLabel("Result").fill("re-7731");
    await dialog.getByLabel("How it is known").fill("the bank has it");
    await accessible(page);
    await v.kept("settle");
    v.guard.expect(400);
    await dialog.getByRole("button", { name: "Settle" }).click();
    await dialog.getByRole("alert").getByText("it must be JSON").waitFor();
    await dialog.getByLabel("Result").fill('"re-7731"');
    await dialog.getByRole("button", { name: "Settle" }).click();
    await says("takes over");
    const task = await caller.until(id, "TASK_STATE_COMPLETED");
    same(task.status.message.parts[0].text, "Paid, re-7731", "what the step went on with");
    await acted(v, "resume:its effect is settled", by);
    await v.tab("Effects");
    await v.panel().getByText("operator " + by + ": the bank has it").waitFor();
  });
  await v.check("settle: it was not done", async () => {
    const id = await held("pay 80 EUR to Bo");
    await v.openTask(id, "Effects");
    await v.panel().getByText("1, the last under").waitFor();
    await page.keyboard.press("s");
    await dialog.getByLabel("It was not done.").check();
    await dialog.getByLabel("How it is known").fill("the bank has not");
    await dialog.getByRole("button", { name: "Settle" }).click();
    await says("takes over");
    await v.panel().getByText("2, the last under").waitFor(); // called again, and in doubt again
    await acted(v, "resume:its effect is settled", by);
  });
  await v.check("resume", async () => {
    const id = await held("pay 95 EUR to Cy");
    await v.openTask(id);
    await page.locator(".trouble.warn").getByText("in doubt and held").waitFor();
    const before = await page.locator(".entry").count();
    await page.getByRole("button", { name: "Resume…" }).click();
    await accessible(page);
    await v.kept("resume");
    await dialog.getByLabel("Why").fill("it is up again");
    await dialog.getByRole("button", { name: "Resume" }).click();
    await says("takes over");
    await acted(v, "resume:it is up again", by);
    await page.locator(".entry").nth(before + 1).waitFor(); // the wait has ended, and its step has run again
  });
  await v.check("resume: by two at once, and pressed twice", async () => {
    const id = await held("pay 60 EUR to Di");
    const resume = () => page.getByRole("button", { name: "Resume…" }).click();
    await resume();
    // Somebody else is first.
    await page.evaluate(async (task) => (await import("/console/http.js")).act(task, "resume", { note: "", generation: 1 }), id);
    v.guard.expect(409);
    await dialog.getByRole("button", { name: "Resume" }).click();
    await dialog.getByRole("alert").getByText("Another execution has taken over since you looked").waitFor();
    await dialog.getByRole("button", { name: "Not now" }).click();
    await page.locator(".now", { hasText: "generation 2" }).waitFor();
    await page.locator(".entry", { hasText: "held for an operator" }).nth(1).waitFor();
    await resume();
    await dialog.getByRole("button", { name: "Resume" }).dblclick();
    await says("Execution 3 takes over.");
    await acted(v, "resume:", by);
    const done = await page.evaluate(async (task) => (await import("/console/http.js")).ask("tasks/" + task), id);
    same([done.head.generation, done.acts.map((a) => [a.action, Boolean(a.refused)])], [3, [["resume", false], ["resume", false], ["resume", true], ["resume", false]]], "what was done");
  });
  await v.check("replay", async () => {
    const hook = "/" + v.name.replaceAll(" ", "-");
    const id = await caller.send("say hello", { hook: v.receiver.url + hook });
    await caller.until(id, "TASK_STATE_COMPLETED");
    await v.openTask(id, "Webhooks");
    await v.panel().locator("tbody tr").first().waitFor();
    v.receiver.takes.add(hook);
    await v.panel().getByRole("button", { name: "Replay…" }).click();
    await accessible(page);
    await v.kept("replay");
    await dialog.getByLabel("After entry").fill("0");
    await dialog.getByRole("button", { name: "Replay" }).click();
    await says("told again");
    await acted(v, "replay:webhook hook, after entry 0", by);
    await v.tab("Webhooks");
    await v.panel().getByText("204").first().waitFor();
    want(v.receiver.taken.some((t) => t.startsWith(hook + " ")), `the receiver has taken ${v.receiver.taken}`);
  });
  await v.check("export", async () => {
    const id = await caller.send("say for the record");
    await caller.until(id, "TASK_STATE_COMPLETED");
    await v.openTask(id);
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).click()]);
    same(download.suggestedFilename(), id + ".ndjson", "the file's name");
    const lines = (await readFile(await download.path(), "utf8")).trim().split("\n").map((l) => JSON.parse(l));
    same([lines[0].kind, lines.at(-1).kind], ["header", "trailer"], "the file's ends");
    same(lines.filter((l) => l.kind === "act").map((l) => [l.act.action, l.act.by]), [["export", by]], "who took it");
    await acted(v, "export:", by);
  });
  await v.check("an export that fails is no file", async () => {
    const id = await caller.send("say for the record");
    await caller.until(id, "TASK_STATE_COMPLETED");
    await v.openTask(id);
    const downloads = [];
    const noted = (d) => downloads.push(d.suggestedFilename());
    page.on("download", noted);
    const press = () => page.getByRole("button", { name: "Export" }).click();
    // instead has the export answered in another way, and says what the page makes of it.
    async function instead(answer, text) {
      const address = "**/console/api/tasks/" + id + "/export";
      await page.route(address, answer);
      await press();
      await page.locator("#says.on").getByText(text).waitFor(); // what was said before stands there until then
      await page.unroute(address, answer);
      await page.locator("#says:not(.on)").waitFor();
    }
    for (const keep of [-20, 0]) {
      await instead(async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, body: (await answer.text()).slice(0, keep) });
      }, "Not exported: it broke off before its end.");
    }
    v.guard.expect(503);
    await instead((route) => route.fulfill({ status: 503, json: { error: { reason: "UNAVAILABLE", message: "Something failed on our side. Its incident is 1." } } }), "Not exported: Something failed on our side. Its incident is 1.");
    // The whole one, behind them, is the first file.
    const [download] = await Promise.all([page.waitForEvent("download"), press()]);
    await download.path();
    page.off("download", noted);
    same(downloads, [id + ".ndjson"], "the files");
    await says("Exported; the record says so.");
  });
}

// keyboard goes through the console without a pointer.
export async function keyboard(v, tasks) {
  const { page } = v;
  await v.check("by keyboard alone, with the focus in sight", async () => {
    await v.open("#/tasks?state=input-required", ".tasks tbody a");
    await page.reload(); // the focus begins where the page does
    await page.locator(".tasks tbody a").first().waitFor();
    const stops = [];
    for (let i = 0; i < 30 && stops.at(-1) !== "f-stuck"; i++) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => {
        const e = document.activeElement;
        const style = getComputedStyle(e);
        const box = e.getBoundingClientRect();
        return { what: e.id || e.textContent.slice(0, 20) || e.tagName, ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2, seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight };
      });
      want(at.ring && at.seen, `the focus on ${JSON.stringify(at)} cannot be seen`);
      stops.push(at.what);
    }
    same([stops[0], stops[2], stops[3]], ["skip", "nav-tasks", "nav-health"], "the first stops");
    for (const filter of ["f-state", "f-older", "f-due", "f-agent", "f-context", "f-stuck"]) want(stops.includes(filter), `the stops are ${stops}`);
    await page.keyboard.press("/");
    same(await page.evaluate(() => document.activeElement.id), "f-context", "where / leads");
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const second = await page.evaluate(() => document.activeElement.textContent);
    await page.keyboard.press("Enter");
    await page.locator(".task h1", { hasText: second }).waitFor();
    await page.locator(".entry").first().waitFor();
    await page.keyboard.press("5");
    await page.locator('#tab-Refused[aria-selected="true"]').waitFor();
    await page.locator("#tab-Refused").focus();
    await page.keyboard.press("ArrowRight");
    await page.locator('#tab-Operators[aria-selected="true"]').waitFor();
    await page.keyboard.press("?");
    await page.locator("dialog").getByText("answer the question").waitFor();
    await accessible(page);
    await v.kept("keys");
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("a");
    await page.locator("dialog").getByLabel("Answer").fill("jk");
    same(await page.locator("dialog textarea").inputValue(), "jk", "what was written, letters that are keys too");
    await page.keyboard.press("Escape");
    await page.keyboard.press("u");
    await page.locator(".tasks tbody a").first().waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.locator(".plots figure").first().waitFor();
  });
  await v.check("keys can be switched off", async () => {
    await page.keyboard.press("?");
    await page.locator("dialog").getByLabel("Use single keys").uncheck();
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    same(await page.evaluate(() => location.hash), "#/health", "the place");
    await page.evaluate(() => localStorage.clear());
  });
  await v.check("reduced motion", async () => {
    await page.emulateMedia({ reducedMotion: "reduce" });
    same(await page.locator("#says").evaluate((s) => getComputedStyle(s).transitionDuration), "0s", "the transition's time");
    await page.emulateMedia({ reducedMotion: "no-preference" });
  });
}
