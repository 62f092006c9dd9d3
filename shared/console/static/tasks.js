// The list of tasks. What is shown stays where it is: rows are brought up to date in
// place, and what is new waits for the operator to ask for it.

import { el, put, said, write } from "./dom.js";
import { coarse, count, digest, local, plural, since, stamp, until } from "./format.js";
import { badge, glyph } from "./glyph.js";
import { ask, single } from "./http.js";
import * as keys from "./keys.js";

const pollEvery = 5000;
const overviewEvery = 30000;
const pageRows = 100;

const stateChoices = [
  ["", "Any state"], ["live", "Live"], ["submitted", "Submitted"], ["working", "Working"], ["input-required", "Input required"], ["auth-required", "Auth required"],
  ["completed,failed,canceled,rejected", "Ended"], ["completed", "Completed"], ["failed", "Failed"], ["canceled", "Canceled"], ["rejected", "Rejected"],
];
const ageChoices = [["", "Any age"], ["1m", "1 minute"], ["5m", "5 minutes"], ["15m", "15 minutes"], ["1h", "1 hour"], ["6h", "6 hours"], ["24h", "1 day"], ["168h", "7 days"]];
const dueChoices = [["", "Any deadline"], ["1h", "1 hour"], ["6h", "6 hours"], ["24h", "1 day"], ["168h", "7 days"]];
const asked = ["state", "older", "due", "agent", "version", "context", "submitter", "stuck"];

export function show({ main, query, say }) {
  document.title = "Tasks – Holdfast console";
  const gone = new AbortController();
  const wanted = new URLSearchParams([...query].filter(([k, v]) => asked.includes(k) && v));
  const pages = [{ after: "", before: 0 }]; // of the pages up to this one: where it begins, and how many rows came before
  let rows = new Map();
  let listed = { rows: [] };
  let loads = 0; // begun; what was asked before the latest is about another page

  const select = (name, label, choices) => {
    const s = el("select", { id: "f-" + name }, choices.map(([v, text]) => el("option", { value: v }, text)));
    s.value = wanted.get(name) ?? "";
    s.addEventListener("change", () => go(name, s.value));
    return el("div", {}, el("label", { for: "f-" + name }, label), s);
  };
  const agentBox = el("select", { id: "f-agent" }, el("option", { value: "" }, "Any agent"));
  agentBox.addEventListener("change", () => {
    const [agent, version] = JSON.parse(agentBox.value || '["",""]');
    go("agent", agent, "version", version);
  });
  const context = el("input", { id: "f-context", type: "search", value: wanted.get("context") ?? "", placeholder: "contextId", spellcheck: "false", autocapitalize: "none" });
  const form = el("form", { class: "filters", role: "search", "aria-label": "Filter" },
    select("state", "State", stateChoices), select("older", "In it for at least", ageChoices), select("due", "Answer due within", dueChoices),
    el("div", {}, el("label", { for: "f-agent" }, "Agent and version"), agentBox),
    el("div", {}, el("label", { for: "f-context" }, "Context"), context),
    el("div", { class: "last" },
      wanted.get("submitter") ? el("span", { class: "soft", title: wanted.get("submitter") }, "Submitted by " + digest(wanted.get("submitter"))) : "",
      el("button", { type: "button", class: "toggle", id: "f-stuck", "aria-pressed": wanted.get("stuck") ? "true" : "false", onclick: () => go("stuck", wanted.get("stuck") ? "" : "1") }, glyph("warn"), "Stuck only"),
      el("button", { type: "button", class: "quiet", disabled: wanted.size === 0, onclick: () => (location.hash = "#/tasks") }, "Clear")));
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    go("context", context.value.trim());
  });
  context.addEventListener("search", () => go("context", context.value.trim()));

  const versions = el("ul", { class: "versions", tabindex: "0", "aria-label": "Live tasks per agent version" });
  const figures = el("p", { class: "figures" });
  const news = el("button", { type: "button", class: "news", onclick: () => load() });
  const body = el("tbody");
  const table = el("table", { class: "tasks", "aria-busy": "true" },
    el("caption", { class: "unseen" }, "Tasks, the latest status first"),
    el("thead", {}, el("tr", {}, ["State", "Task", "Agent", "Step", "In state", "Age", "Entries", "Note"].map((h, i) => el("th", { scope: "col", class: "c" + i }, h)))), body);
  const range = el("span", { class: "range" });
  const earlier = el("button", { type: "button", onclick: () => turn(-1), disabled: true }, "Newer");
  const further = el("button", { type: "button", onclick: () => turn(1), disabled: true }, "Older");
  put(main, el("h1", { class: "unseen" }, "Tasks"),
    el("section", { class: "top", "aria-label": "Live tasks" }, figures, versions), form,
    el("div", { class: "table" }, table),
    el("div", { class: "pager" }, range, news, earlier, further));

  // go changes the filter, which is in the address.
  function go(...pairs) {
    for (let i = 0; i < pairs.length; i += 2) {
      if (pairs[i + 1]) wanted.set(pairs[i], pairs[i + 1]);
      else wanted.delete(pairs[i]);
    }
    location.hash = "#/tasks" + (wanted.size > 0 ? "?" + wanted : "");
  }

  const busy = () => table.getAttribute("aria-busy") === "true";

  function turn(by) {
    if (busy()) return; // the page that is there is not the one that was asked for
    if (by > 0 && listed.next) pages.push({ after: listed.next, before: pages.at(-1).before + listed.rows.length });
    else if (by < 0 && pages.length > 1) pages.pop();
    else return;
    load();
    body.closest(".table").scrollTo(0, 0);
  }

  const question = () => {
    const q = new URLSearchParams(wanted);
    q.set("limit", pageRows);
    if (pages.at(-1).after) q.set("after", pages.at(-1).after);
    return "tasks?" + q;
  };

  const load = single(async () => {
    loads++;
    table.setAttribute("aria-busy", "true");
    let failed = "";
    try {
      listed = await ask(question(), gone.signal);
    } catch (err) {
      if (err.name === "AbortError") return;
      [listed, failed] = [{ rows: [] }, err.message];
    }
    rows = new Map(listed.rows.map((r) => [r.task, line(r)]));
    put(body, [...rows.values()].map((r) => r.node));
    if (failed) put(body, el("tr", {}, el("td", { colspan: "8", class: "error" }, failed)));
    else if (listed.rows.length === 0) put(body, el("tr", {}, el("td", { colspan: "8", class: "soft" }, listed.short ? "None so far; the next page looks on." : "No tasks.")));
    table.setAttribute("aria-busy", "false");
    earlier.disabled = pages.length < 2;
    further.disabled = !listed.next;
    write(news, "");
    write(range, listed.rows.length === 0 ? "" : `${count(pages.at(-1).before + 1)}–${count(pages.at(-1).before + listed.rows.length)}`);
    total();
    performance.mark("listed");
  });

  // total says how many there are, where the index can tell.
  const total = single(async () => {
    if (["older", "due", "stuck", "submitter"].some((k) => wanted.get(k)) || listed.rows.length === 0) return;
    try {
      const { total, more } = await ask("count?" + wanted, gone.signal);
      if (listed.rows.length > 0) write(range, range.textContent.split(" of ")[0] + " of " + (more ? "at least " : "") + count(total));
    } catch {
      // the page is there without it
    }
  });

  // poll brings rows up to date. Their order stays as it was read.
  const poll = single(async () => {
    if (busy()) return;
    const of = loads;
    let fresh;
    try {
      fresh = await ask(question(), gone.signal);
    } catch (err) {
      if (err.name !== "AbortError" && of === loads) write(news, "Not up to date: " + err.message);
      return;
    }
    if (of !== loads) return;
    const seen = new Set();
    let added = 0;
    for (const r of fresh.rows) {
      seen.add(r.task);
      const there = rows.get(r.task);
      if (there) there.update(r);
      else added++;
    }
    let moved = 0;
    for (const [id, r] of rows) {
      const left = !seen.has(id);
      r.node.classList.toggle("left", left);
      if (left) moved++;
    }
    const changes = [added > 0 && plural(added, "new one", "new ones"), moved > 0 && plural(moved, "that has moved on", "that have moved on")].filter(Boolean);
    write(news, changes.length > 0 ? "Refresh: " + changes.join(", ") : "");
  });

  const overview = single(async () => {
    let all;
    try {
      all = await ask("overview", gone.signal);
    } catch {
      return; // the list says what is wrong
    }
    put(figures, el("strong", {}, count(all.live) + (all.partial ? "+" : "")), " live, ", el("strong", { class: all.stuck > 0 ? "warn" : undefined }, count(all.stuck)), " stuck", el("span", { class: "soft" }, ", held effects apart"));
    put(versions, all.versions.map((v) => el("li", {}, el("a", { href: "#/tasks?" + new URLSearchParams({ state: "live", agent: v.agent, version: v.version }), class: v.known ? undefined : "warn", title: v.known ? undefined : "Nothing here can run this version" },
      !v.known && glyph("warn"), el("span", {}, said(v.agent), "@" + v.version), el("b", {}, count(v.live)), el("span", { class: "soft" }, v.live > 0 ? "live" : v.current ? "idle" : "may go")))));
    const chosen = JSON.stringify([wanted.get("agent") ?? "", wanted.get("version") ?? ""]);
    const choices = [["", "Any agent"]];
    for (const name of [...new Set(all.versions.map((v) => v.agent))]) {
      const of = all.versions.filter((v) => v.agent === name);
      if (of.length > 1) choices.push([JSON.stringify([name, ""]), name]);
      for (const v of of) choices.push([JSON.stringify([name, String(v.version)]), name + "@" + v.version]);
    }
    if (wanted.get("agent") && !choices.some(([v]) => v === chosen)) choices.push([chosen, wanted.get("agent") + (wanted.get("version") ? "@" + wanted.get("version") : "")]);
    put(agentBox, choices.map(([v, text]) => el("option", { value: v }, text)));
    agentBox.value = wanted.get("agent") ? chosen : "";
  });

  const focusRow = (by) => {
    const links = [...body.querySelectorAll("a")];
    const i = links.indexOf(document.activeElement);
    links[Math.max(0, Math.min(links.length - 1, i + by))]?.focus();
  };
  keys.bind({
    j: ["next task", () => focusRow(1)], k: ["task before", () => focusRow(-1)], n: ["older page", () => turn(1)], p: ["newer page", () => turn(-1)],
    r: ["refresh", () => load().then(() => say("Refreshed."))], s: ["stuck only, or not", () => go("stuck", wanted.get("stuck") ? "" : "1")], "/": ["filter by context", () => context.focus()],
  });

  load().then(overview);
  const timers = [
    setInterval(() => document.hidden || poll(), pollEvery), setInterval(() => document.hidden || overview(), overviewEvery),
    setInterval(() => document.hidden || rows.forEach((r) => r.tick()), 1000),
  ];
  return () => {
    gone.abort();
    timers.forEach(clearInterval);
  };
}

// line is a row of the table.
function line(r) {
  const cell = (i, ...children) => el("td", { class: "c" + i }, children);
  const state = cell(0);
  const [step, inState, age, entries, note] = [3, 4, 5, 6, 7].map((i) => cell(i));
  const under = el("span", { class: "under" });
  const name = () => [said(r.agent), "@" + r.agentVersion];
  const node = el("tr", {}, state,
    el("td", { class: "c1" }, el("a", { href: "#/tasks/" + encodeURIComponent(r.task), class: "mono" }, said(r.task)), under),
    el("td", { class: "c2" }, name()), step, inState, age, entries, note);
  const row = { node, update, tick };
  update(r);
  return row;

  function update(fresh) {
    const before = r;
    r = fresh;
    if (before === fresh || before.state !== r.state) put(state, badge(r.state, r.canceling ? "canceling" : undefined));
    write(step, r.step);
    write(entries, count(r.seq));
    if (before === fresh || before.seq !== r.seq || JSON.stringify(before.stuck) !== JSON.stringify(r.stuck) || before.holder !== r.holder) explain();
    tick();
  }

  // explain says what the task waits for, or what is wrong.
  function explain() {
    put(under, name(), r.stuck && [" ", el("span", { class: "warn" }, glyph("warn"), r.stuck[0].reason)]);
    if (r.stuck) put(note, el("span", { class: "warn", title: r.stuck.map((t) => t.says).join(" ") }, glyph("warn"), r.stuck.map((t) => t.reason).join(", ")));
    else if (r.deadline) put(note, "answer due in ", el("span", { class: "left-time", title: stamp(r.deadline) }));
    else if (r.nextAt) put(note, r.attempt > 0 ? `attempt ${r.attempt + 1} in ` : "sleeps for ", el("span", { class: "left-time", title: stamp(r.nextAt) }));
    else if (r.holder) put(note, el("span", { class: "soft" }, "fence " + r.fence + ", "), said(r.holder, { class: "soft" }));
    else put(note);
  }

  function tick() {
    write(inState, coarse(Math.max(0, since(r.statusAt))));
    inState.title = stamp(r.statusAt) + ", here " + local(r.statusAt);
    write(age, coarse(Math.max(0, since(r.acceptedAt))));
    age.title = "accepted " + stamp(r.acceptedAt);
    const left = note.querySelector(".left-time");
    if (left) write(left, coarse(until(r.deadline ?? r.nextAt)));
  }
}
