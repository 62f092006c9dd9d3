// One task. The stream that its callers have says when something has happened; what has
// happened is read from the ledger, which has more than callers see. A lease is no entry
// and comes with no update, so the head is looked at now and then as well.

import { copyable, el, put, said, write } from "./dom.js";
import * as actions from "./actions.js";
import { coarse, count, digest, local, since, span, stamp, until } from "./format.js";
import { badge, glyph } from "./glyph.js";
import { ask, single, subscribe } from "./http.js";
import * as keys from "./keys.js";
import { tabs } from "./panels.js";
import { timeline } from "./timeline.js";

const lookEvery = 4000;
const settleTime = 150; // entries of one commit come together
const ended = ["completed", "failed", "canceled", "rejected"];

export function show({ main, session, say, query }, id) {
  document.title = "Task " + id + " – Holdfast console";
  const gone = new AbortController();
  let sheet = null;
  let soon = 0;
  let streaming = false;

  const state = el("span", { class: "state" });
  const live = el("span", { class: "live soft" });
  const buttons = actions.bar();
  const facts = nowPanel();
  const trouble = el("p", { class: "trouble" });
  const line = timeline();
  const beside = tabs(query.get("tab"), { id, gone: gone.signal, open: (action, about) => perform(action, about) });
  put(main,
    el("div", { class: "task" },
      el("header", { class: "head" }, el("a", { href: "#/tasks", class: "back" }, "‹ Tasks"), el("h1", {}, copyable(id, say)), state, live, buttons.node),
      trouble, facts.node, line.node, beside.node));

  const perform = (action, about) => sheet && actions.start(action, { sheet, lines: line.lines(), about, say, session, changed: () => look() });
  buttons.pressed((action) => perform(action));

  const status = (text, on = false) => {
    write(live, text);
    live.classList.toggle("on", on);
  };

  // look reads what is there now.
  const look = single(async () => {
    try {
      const fresh = await ask("tasks/" + encodeURIComponent(id), gone.signal);
      await line.advance(id, fresh, gone.signal);
      const was = sheet;
      sheet = fresh;
      paint(was);
    } catch (err) {
      if (err.name === "AbortError" || err.status === 401) return;
      status("not up to date: " + err.message);
      if (sheet === null) put(main, el("p", { class: "plain error", role: "alert" }, err.message), el("p", { class: "plain" }, el("a", { href: "#/tasks" }, "Back to the tasks")));
    }
  });

  function paint(was) {
    if (was?.state !== sheet.state) put(state, badge(sheet.state));
    put(trouble, sheet.stuck ? [glyph("warn"), el("span", { title: sheet.stuck.map((t) => t.says).join(" ") }, sheet.stuck.map((t) => t.says).join(" "))] : el("span", { class: "soft" }, !ended.includes(sheet.state) ? "Not stuck." : sheet.receipt?.reason ? ["It has ended: ", said(sheet.receipt.reason), "."] : "It has ended."));
    trouble.classList.toggle("warn", Boolean(sheet.stuck));
    facts.update(sheet);
    line.paint(sheet);
    beside.update(sheet, line.lines());
    buttons.update(sheet, session);
    if (ended.includes(sheet.state)) status("ended");
    else if (!sheet.known) status("asked every " + lookEvery / 1000 + " s");
    else if (!streaming) follow();
    performance.mark("task");
  }

  // follow keeps the stream open. Every stream is cut some time; that is the normal path.
  async function follow() {
    streaming = true;
    let pause = 1000;
    while (!gone.signal.aborted && !ended.includes(sheet.state)) {
      const began = Date.now();
      try {
        status("live", true);
        await subscribe(sheet.head.agent, id, () => {
          clearTimeout(soon);
          soon = setTimeout(look, settleTime);
        }, gone.signal);
      } catch (err) {
        if (err.name === "AbortError") return;
      }
      if (gone.signal.aborted) return;
      await look();
      pause = Date.now() - began > 10000 ? 1000 : Math.min(pause * 2, 30000);
      if (!ended.includes(sheet.state)) status("stream again in " + coarse(pause));
      await new Promise((done) => setTimeout(done, pause));
    }
    streaming = false;
  }

  keys.bind({
    ...Object.fromEntries(beside.names.map((name, i) => [String(i + 1), [name, () => beside.choose(i)]])),
    a: ["answer the question", () => buttons.press("answer")], c: ["cancel", () => buttons.press("cancel")], m: ["resume", () => buttons.press("resume")],
    s: ["settle an effect in doubt", () => buttons.press("settle")], w: ["replay a webhook", () => buttons.press("replay")], e: ["export", () => buttons.press("export")],
    t: ["to the timeline", () => line.focus()], u: ["back to the tasks", () => (location.hash = "#/tasks")],
  });

  look();
  const timers = [setInterval(() => document.hidden || sheet === null || settled(sheet) || look(), lookEvery), setInterval(() => sheet && !document.hidden && (facts.tick(sheet), beside.tick()), 1000)];
  return () => {
    gone.abort();
    clearTimeout(soon);
    timers.forEach(clearInterval);
  };
}

// settled says that nothing more will become of a task: it has ended, and everybody who
// takes its updates has them.
const settled = (s) => ended.includes(s.state) && s.endpoints.every((e) => e.state || e.cursor >= s.head.seq);

// nowPanel is the task as it is now: the same fields always, so that nothing moves.
function nowPanel() {
  const names = ["In state", "Age", "Step", "Waits for", "Lease", "Fence", "Last accepted", "Due", "Agent", "Context", "Submitter", "Ends by", "Counted"];
  const values = Object.fromEntries(names.map((n) => [n, el("dd")]));
  const node = el("section", { "aria-label": "Now" }, el("dl", { class: "now" }, names.map((n) => el("div", {}, el("dt", {}, n), values[n]))));
  const set = (name, text, title) => {
    write(values[name], text);
    if (title) values[name].title = title;
  };

  function tick(s) {
    const h = s.head;
    const over = ended.includes(s.state);
    set("In state", coarse(since(h.statusAt)), stamp(h.statusAt) + ", here " + local(h.statusAt));
    set("Age", over ? span(Date.parse(h.statusAt) - Date.parse(h.acceptedAt)) + " in all" : coarse(since(h.acceptedAt)), "accepted " + stamp(h.acceptedAt));
    const waits = over ? "nothing: it has ended"
      : h.cancel ? "somebody to meet the cancellation"
        : s.stuck?.some((t) => t.reason === "effect-held") ? "an operator"
        : h.pause ? (s.state === "auth-required" ? "a receipt, " : "an answer, ") + left(until(h.pause.deadlineAt))
          : until(h.nextAt) > 0 ? (s.sleeps ? "time, " : `attempt ${(h.attempt ?? 0) + 1}, `) + coarse(until(h.nextAt))
            : s.outside && !h.holder ? "a worker from outside" : h.holder ? "its holder" : "an execution";
    set("Waits for", waits, h.pause ? "deadline " + stamp(h.pause.deadlineAt) : until(h.nextAt) > 0 ? "looks again " + stamp(h.nextAt) : "");
    const lease = !h.holder ? "nobody holds it" : until(h.leaseUntil) > 0 ? h.holder + ", " + coarse(until(h.leaseUntil)) + " left" : h.holder + ", over since " + coarse(since(h.leaseUntil));
    set("Lease", lease, h.holder ? h.holder + " until " + stamp(h.leaseUntil) : "");
    set("Due", over ? "never" : h.holder && until(h.leaseUntil) > 0 ? "when its lease is over" : h.dueAt ? (until(h.dueAt) > 0 ? "in " + coarse(until(h.dueAt)) : coarse(since(h.dueAt)) + " ago") : "–", "when somebody must look: " + stamp(h.dueAt));
    set("Ends by", over ? "forgotten " + stamp(h.expiresAt) : stamp(h.lifeEndsAt), over ? "kept until" : "longest life");
  }

  return {
    node, tick,
    update(s) {
      const h = s.head;
      set("Step", h.step + (h.attempt ? `, ${h.attempt} failed` : ""), `${h.step}, visit ${h.visit}, ${h.attempt ?? 0} failed attempts`);
      set("Fence", `${h.fence ?? 0}, generation ${h.generation}`, `${h.grants ?? 0} leases since the last entry; ${h.untaken ?? 0} generations without a lease`);
      set("Last accepted", `entry ${count(h.seq)}, ${digest(h.chain)}`, "chain " + h.chain);
      put(values.Agent, said(h.agent), "@" + h.agentVersion, s.known ? "" : " (not here)");
      values.Agent.title = "policy " + (h.policy ?? "–");
      put(values.Context, said(h.contextId));
      values.Context.title = h.contextId;
      if (!values.Submitter.firstChild) put(values.Submitter, h.principal ? el("a", { href: "#/tasks?submitter=" + encodeURIComponent(h.principal) }, digest(h.principal)) : "–");
      values.Submitter.title = "a hash: the credential's name is not kept";
      const c = s.counts;
      set("Counted", `${c.rejections} refused, ${c.hits} repeated`, `${c.rejections} rejections, of which ${c.incidents} incidents; ${c.hits} lookup hits; ${c.quarantined} quarantined; ${c.acts ?? 0} actions of operators`);
      tick(s);
    },
  };
}

const left = (ms) => (ms > 0 ? coarse(ms) + " left" : "overdue by " + coarse(-ms));
