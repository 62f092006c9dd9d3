// The invariants, each with a light, and the tenant's tasks over time. Rates and ages are
// counted in the ledger; what the lights showed is remembered as long as this page is open.

import { el, put, said, write } from "./dom.js";
import { coarse, count, plural, since, stamp } from "./format.js";
import { badge, glyph } from "./glyph.js";
import { ask, single } from "./http.js";
import * as keys from "./keys.js";
import { columns, histogram, spark } from "./plot.js";

const lookEvery = 10000;
const kept = 180;
const words = { green: "green", amber: "amber", red: "red" };

export function show({ main, say }) {
  document.title = "Health – Holdfast console";
  const gone = new AbortController();
  const gist = el("p", { class: "gist" });
  const grid = el("ul", { class: "lights" });
  const plots = el("div", { class: "plots" });
  const cards = new Map();
  put(main, el("h1", {}, "Health"), gist, grid, el("h2", {}, "Tasks over time"), plots);

  const look = single(async () => {
    try {
      const report = await ask("health", gone.signal);
      for (const l of report.lights) {
        if (!cards.has(l.invariant)) {
          const c = card();
          cards.set(l.invariant, c);
          grid.append(c.node);
        }
        cards.get(l.invariant).update(l, report.at);
      }
      if (report.lights.length === 0) return void put(gist, el("span", { class: "soft" }, "This server keeps no lights."));
      const bad = report.lights.filter((l) => l.light !== "green");
      put(gist, bad.length === 0 ? [badge("green", "All lights are green"), el("span", { class: "soft" }, " at " + stamp(report.at))] : [badge(bad.some((l) => l.light === "red") ? "red" : "amber", plural(bad.length, "light is not green", "lights are not green")), el("span", { class: "soft" }, " at " + stamp(report.at))]);
    } catch (err) {
      if (err.name === "AbortError") return;
      put(gist, el("span", { class: "error" }, err.message));
    }
  });

  const paint = single(async () => {
    try {
      const all = await ask("overview", gone.signal);
      put(plots, figures(all));
    } catch (err) {
      if (err.name !== "AbortError") put(plots, el("p", { class: "error" }, err.message));
    }
  });

  keys.bind({ r: ["look again", () => Promise.all([look(), paint()]).then(() => say("Looked again."))] });
  look();
  paint();
  const timers = [setInterval(() => document.hidden || look(), lookEvery), setInterval(() => document.hidden || paint(), 3 * lookEvery)];
  return () => {
    gone.abort();
    timers.forEach(clearInterval);
  };
}

// card is a light. It has the same lines always.
function card() {
  const light = el("span");
  const name = el("h2");
  const value = el("p", { class: "value" });
  const means = el("p", { class: "means soft" });
  const tasks = el("div", { class: "names" });
  const trail = el("div", { class: "trail" });
  const book = el("p", { class: "soft book" });
  const node = el("li", { class: "light" }, el("header", {}, light, name), value, trail, means, tasks, book);
  const past = [];
  let before = "";
  return {
    node,
    update(l, at) {
      past.push([Date.parse(at), l.value, l.light]);
      if (past.length > kept) past.shift();
      put(trail, spark(past));
      write(value, [amount(l), l.light !== "green" && l.oldest ? "since " + coarse(since(l.oldest)) : "", l.more ? "and more" : ""].filter(Boolean).join(", "));
      const key = JSON.stringify([l.light, l.tasks]);
      if (key === before) return;
      before = key;
      node.className = "light is-" + l.light;
      put(light, badge(l.light, words[l.light]));
      write(name, l.name);
      write(means, l.means);
      put(tasks, (l.tasks ?? []).slice(0, 3).map((t) => {
        const from = t.since ? ", since " + stamp(t.since) : "";
        return el("a", { href: "#/tasks/" + encodeURIComponent(t.task), class: "mono", title: t.task + from }, said("…" + t.task.slice(-8)));
      }), (l.tasks ?? []).length > 3 && el("span", { class: "soft", title: l.tasks.slice(3).map((t) => t.task).join(" ") }, `+${l.tasks.length - 3}`));
      put(book, l.rule ? l.rule + " · " : "", el("code", {}, l.runbook));
    },
  };
}

// amount is a light's number in its unit.
function amount(l) {
  if (l.unit === "Seconds") return coarse(l.value * 1000);
  return l.count && l.count === l.value ? plural(l.count, "task") : count(Math.round(l.value)) + (l.count ? ", " + plural(l.count, "task") : "");
}

function figures(all) {
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const r = all.rates;
  const until = r.since && !r.since.startsWith("0001") ? ` (complete from ${stamp(r.since)})` : "";
  const one = (title, state, values) => el("figure", { class: "fifth" }, el("figcaption", {}, state ? badge(state, title) : el("b", {}, title), el("span", { class: "soft" }, count(sum(values)))), columns(values, r, state ?? "submitted", title));
  return [
    el("p", { class: "soft wide" }, `Per minute over the last hour, counted in the ledger${until}.`),
    one("accepted", "submitted", r.accepted), ["completed", "failed", "canceled", "rejected"].map((s) => one(s, s, r.ended[s])),
    el("p", { class: "soft wide" }, `How long the ${plural(all.live, "live task")} have been in their state${all.partial ? ", of those that were looked at" : ""}.`),
    Object.entries(all.ages).map(([state, values]) => el("figure", { class: "quarter" }, el("figcaption", {}, badge(state), el("span", { class: "soft" }, sum(values) === 0 ? "none" : "oldest " + coarse(since(all.oldest[state])))), histogram(values, all.bounds, state))),
    el("figure", { class: "wide" }, el("figcaption", {}, el("b", {}, "Live tasks per agent version"), el("span", { class: "soft" }, "Stuck without those that wait for a held effect: the light of effects in doubt has them.")), el("table", { class: "small" },
      el("thead", {}, el("tr", {}, ["Agent", "Live", "Stuck", "Oldest", "Here"].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, all.versions.map((v) => el("tr", {}, el("td", {}, el("a", { href: "#/tasks?" + new URLSearchParams({ state: "live", agent: v.agent, version: v.version }) }, said(v.agent), "@" + v.version)), el("td", {}, count(v.live)), el("td", {}, count(v.stuck ?? 0)), el("td", {}, v.live ? coarse(since(v.oldest)) : "–"),
        el("td", {}, v.known ? (v.current ? "current" : v.live ? "kept for its tasks" : "may leave the catalog") : [glyph("warn"), "not deployed"])))))),
  ];
}
