// Checks and figures, told line by line as JSON.

import { readFileSync } from "node:fs";
import { STATUS_CODES } from "node:http";
import { createRequire } from "node:module";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// patience is how many times longer than usual to wait.
export const patience = JSON.parse(process.argv[2]).patience;

export const tell = (line) => process.stdout.write(JSON.stringify(line) + "\n");
export const figure = (name, value) => tell({ figure: name, value });

// check runs one check. What it throws is why it failed.
export async function check(name, run) {
  try {
    const note = await run();
    tell({ check: name, ...(note && { note: String(note) }) });
  } catch (err) {
    tell({ check: name, failed: String(err.message ?? err).split("\n").slice(0, 12).join("\n") });
  }
}

export function want(is, what) {
  if (!is) throw new Error(what);
}

export function same(got, wanted, what) {
  want(JSON.stringify(got) === JSON.stringify(wanted), `${what}: ${JSON.stringify(got)}, want ${JSON.stringify(wanted)}`);
}

// watch notes on a page whatever must not happen: errors, violations of the policy,
// dialogs, and layout that moves by itself.
export async function watch(page, place) {
  page.setDefaultTimeout(15000 * patience);
  const seen = { errors: [], expected: [] };
  page.on("console", (m) => {
    if (m.type() === "error" || m.type() === "warning") seen.errors.push(`${m.type()}: ${m.text()}`);
  });
  page.on("pageerror", (e) => seen.errors.push("uncaught: " + e.message));
  page.on("dialog", (d) => {
    seen.errors.push("a dialog of the browser's: " + d.message());
    d.dismiss();
  });
  page.on("requestfailed", (r) => r.failure()?.errorText !== "net::ERR_ABORTED" && seen.errors.push(`${r.url()}: ${r.failure()?.errorText}`));
  page.on("request", (r) => new URL(r.url()).origin !== place && !r.url().startsWith("blob:") && seen.errors.push("a request elsewhere: " + r.url()));
  await page.addInitScript(() => {
    window.violations = [];
    window.shifts = [];
    document.addEventListener("securitypolicyviolation", (e) => window.violations.push(`${e.violatedDirective}: ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) {
        if (!e.hadRecentInput) window.shifts.push({ value: e.value, at: e.startTime, of: e.sources.map((s) => (s.node?.nodeType === 1 ? s.node.outerHTML.slice(0, 90) : s.node?.textContent?.slice(0, 40)) + ` ${s.previousRect.y}→${s.currentRect.y}, ${s.previousRect.x}→${s.currentRect.x}`) });
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  // rest is what was seen and not expected, and what was expected and not seen: each
  // expectation takes one error, which has just that text or matches.
  const rest = () => {
    const odd = [...seen.errors];
    const missing = seen.expected.filter((one) => {
      const i = odd.findIndex((text) => (one instanceof RegExp ? one.test(text) : one === text));
      if (i >= 0) odd.splice(i, 1);
      return i < 0;
    });
    return { odd, missing };
  };
  return {
    // clean wants that nothing of it has happened but what was expected, and all of that.
    async clean() {
      // The browser may tell of an answer after the page has shown it.
      await until(() => rest().missing.length === 0).catch(() => {});
      const { odd, missing } = rest();
      const all = [...odd, ...missing.map((one) => "nothing was said of what was provoked: " + one), ...(await page.evaluate(() => window.violations))];
      [seen.errors.length, seen.expected.length] = [0, 0];
      want(all.length === 0, all.join("; "));
    },
    // expect is for what a check provokes: an answer with a status that is an error, or
    // what the browser says in words of its own; as often as it comes.
    expect(...what) {
      for (const one of what) seen.expected.push(typeof one === "number" ? `error: Failed to load resource: the server responded with a status of ${one} (${STATUS_CODES[one]})` : one);
    },
  };
}

// until waits for something that no page shows.
export async function until(is, what) {
  const end = Date.now() + 15000 * patience;
  while (!(await is())) {
    want(Date.now() < end, what);
    await new Promise((done) => setTimeout(done, 20));
  }
}

// still wants that nothing has moved since it was called last.
export async function still(page) {
  const shifts = await page.evaluate(() => window.shifts.splice(0));
  want(shifts.length === 0, `layout moved by itself: ${JSON.stringify(shifts.slice(0, 3))}`);
}

export const forget = (page) => page.evaluate(() => window.shifts.splice(0));

// accessible wants that axe finds nothing.
export async function accessible(page) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  want(found.violations.length === 0, found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 2).map((n) => n.html.slice(0, 120) + " " + (n.any[0]?.message ?? n.all[0]?.message ?? "")).join(" | ")}`).join("; "));
}
