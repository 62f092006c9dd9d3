// Drives the console in a real browser: every view and action at two widths and in both
// themes, signed in and not, and with ten thousand tasks. Each line on standard output is
// the outcome of a check, or a figure.

import { chromium } from "playwright-core";
import { acts, keyboard } from "./acts.mjs";
import { access, speed } from "./access.mjs";
import { tell, watch } from "./check.mjs";
import { health, hostile, hostileTexts, lists, live, quarantined, task, Visit } from "./views.mjs";
import { Caller, Receiver } from "./world.mjs";

const given = JSON.parse(process.argv[2]);
const sizes = { "1280": { width: 1280, height: 800 }, "390": { width: 390, height: 844 } };

const browser = await chromium.launch({ executablePath: given.chromium, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
const receiver = new Receiver();
receiver.url = await receiver.listen();
tell({ version: `Chromium ${browser.version()}` });

// visit goes through everything at one width, in one theme.
async function visit(width, colorScheme) {
  const caller = new Caller(given.url);
  const context = await browser.newContext({ viewport: sizes[width], colorScheme, acceptDownloads: true });
  const page = await context.newPage();
  const guard = await watch(page, given.url);
  const v = new Visit({ name: `${width} ${colorScheme}`, page, guard, url: given.url, caller, folder: given.folder, receiver });
  const tasks = {
    ask: await caller.send("ask Which of the two accounts?"), approve: await caller.send("approve"), pay: await caller.send("pay 120 EUR to Ada"), draft: await caller.send("draft Dear Ada, this is only the beginning"),
    hostile: await caller.send("say " + hostile), count: await caller.send("count 4000", { hook: receiver.url + "/never" }), late: await quarantined(caller),
  };
  await caller.until(tasks.ask, "TASK_STATE_INPUT_REQUIRED");
  await lists(v, tasks);
  await task(v, tasks);
  await hostileTexts(v, tasks);
  await health(v);
  await live(v, tasks);
  await acts(v);
  await keyboard(v, tasks);
  await caller.call("POST", `/desk/tasks/${tasks.count}:cancel`);
  await context.close();
}

try {
  // Two at a time: what shares a machine with others waits for it anyway.
  const wanted = (name) => !given.only || given.only === name;
  for (const width of Object.keys(sizes)) await Promise.all(["light", "dark"].filter((theme) => wanted(`${width} ${theme}`)).map((theme) => visit(width, theme)));
  if (wanted("keys")) await access(browser, { ...given, receiver });
  if (wanted("speed")) await speed(browser, given.bigUrl, given.tasks);
} catch (err) {
  tell({ check: "the driver", failed: String(err.stack ?? err) });
}
receiver.close();
await browser.close();
