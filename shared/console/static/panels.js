// What the ledger keeps beside a task's entries, one tab for each.

import { block, el, put, said, write } from "./dom.js";
import { bytes, count, coarse, digest, plural, stamp, until } from "./format.js";
import { badge, glyph } from "./glyph.js";
import { read } from "./http.js";
import { connections, operators, receipt, refused } from "./evidence.js";

export function tabs(chosen, context) {
  const kinds = [
    ["Pauses", pauses, (s) => s.head.pauses ?? 0], ["Effects", effects, (s) => s.effects.length], ["Artifacts", artifacts, (s) => s.artifacts.length],
    ["Webhooks", webhooks, (s) => s.endpoints.length], ["Refused", refused, (s) => s.counts.rejections + s.counts.quarantined],
    ["Operators", operators, (s) => s.counts.acts ?? 0], ["Receipt", receipt, () => ""], ["Streams", connections, () => ""],
  ];
  const numbers = kinds.map(() => el("span", { class: "n" }));
  const signs = kinds.map(() => el("span", { class: "sign" }));
  const buttons = kinds.map(([name], i) => el("button", { type: "button", role: "tab", id: "tab-" + name, "aria-controls": "tabpanel", "aria-selected": "false", tabindex: "-1", onclick: () => choose(i) }, name, numbers[i], signs[i]));
  const panel = el("div", { class: "scroll", id: "tabpanel", role: "tabpanel", tabindex: "0" });
  const row = el("div", { class: "tabs", role: "tablist", "aria-label": "Beside the entries" }, buttons);
  const node = el("section", { class: "panel beside" }, row, panel);
  let at = Math.max(0, kinds.findIndex(([name]) => name === chosen));
  let picked = chosen !== null && chosen !== undefined;
  let sheet = null;
  let lines = [];
  let painted = "";
  let parts = null;

  row.addEventListener("keydown", (e) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: kinds.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    choose((to + kinds.length) % kinds.length);
    buttons[at].focus();
  });

  function choose(i) {
    at = i;
    picked = true;
    painted = "";
    const query = new URLSearchParams({ tab: kinds[i][0] });
    history.replaceState(null, "", `#/tasks/${encodeURIComponent(context.id)}?${query}`);
    paint();
  }

  function paint() {
    buttons.forEach((b, i) => {
      b.setAttribute("aria-selected", i === at ? "true" : "false");
      b.tabIndex = i === at ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", buttons[at].id);
    if (sheet === null) return;
    // What has not changed is left alone: somebody may be reading it, or be within it.
    const [name, of] = kinds[at];
    const key = name + JSON.stringify(of.watches(sheet, lines));
    if (key !== painted) {
      painted = key;
      parts = of(sheet, lines, context);
      put(panel, parts.node ?? parts);
    }
    tick();
  }

  function tick() {
    for (const t of panel.querySelectorAll("[data-until]")) {
      const left = until(t.dataset.until);
      write(t, left > 0 ? "in " + coarse(left) : coarse(-left) + " ago");
    }
  }

  return {
    node, choose, tick, names: kinds.map(([name]) => name),
    update(fresh, entries) {
      [sheet, lines] = [fresh, entries];
      kinds.forEach(([, , number], i) => write(numbers[i], number(sheet) || ""));
      const mark = (i, on) => signs[i].childElementCount === (on ? 1 : 0) || put(signs[i], on && glyph("warn"));
      mark(0, Boolean(sheet.head.pause));
      mark(1, sheet.effects.some((e) => e.doubt));
      mark(3, sheet.endpoints.some((e) => e.state));
      mark(4, sheet.counts.incidents > 0);
      if (!picked) at = sheet.head.pause ? 0 : sheet.effects.some((e) => e.doubt) ? 1 : sheet.effects.length > 0 ? 1 : sheet.artifacts.length > 0 ? 2 : 0;
      picked = true;
      paint();
    },
  };
}

// when is an instant with the time until it, which counts on.
export const when = (at) => el("span", { class: "when" }, el("span", { class: "mono" }, stamp(at)), " ", el("span", { class: "soft", "data-until": at }));
export const pair = (name, ...value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
const wide = (name, ...value) => el("div", { class: "wide" }, el("dt", {}, name), el("dd", {}, value));
export const none = (text) => el("p", { class: "none soft" }, text);

function pauses(s, lines, context) {
  const asked = lines.filter((l) => l.pause);
  if (asked.length === 0) return none(s.head.pauses ? "Its pauses are among the entries that are not loaded." : "It has asked nobody anything.");
  return asked.reverse().map((l) => {
    const open = s.head.pause?.number === l.pause.number;
    const next = lines.find((after) => after.seq > l.seq && after.state);
    return el("article", { class: "item" },
      el("h3", {}, `Pause ${l.pause.number} `, badge(l.state), open ? el("strong", { class: "warn" }, "open") : ""),
      l.text ? block(l.text) : none("It came without a text."),
      el("dl", { class: "pairs" },
        pair("Asked", stamp(l.at)), open ? pair("Deadline", when(l.pause.deadlineAt)) : pair("Deadline", stamp(l.pause.deadlineAt)),
        pair("Without an answer", l.pause.outcome.replace("TASK_STATE_", "").toLowerCase()),
        l.pause.named && pair("Must be named", "yes"),
        l.pause.challenge && wide("Challenge", `${l.pause.challenge.number}: `, said(l.pause.challenge.action), l.pause.challenge.audience && [", by ", said(l.pause.challenge.audience)]),
        next && pair("Left", `by entry ${next.seq} (${next.type}), ${stamp(next.at)}`)),
      open && s.state === "input-required" && el("p", {}, el("button", { type: "button", onclick: () => context.open("answer") }, "Answer it…")));
  });
}
pauses.watches = (s, lines) => [s.head.pause, lines.filter((l) => l.pause || l.state).length];

function effects(s, lines, context) {
  if (s.effects.length === 0) return none("It has called nobody outside.");
  return s.effects.map((e) => el("article", { class: e.doubt ? "item doubt" : "item" },
    el("h3", {}, said(e.name), " ", badge(e.state, e.doubt && e.state === "intended" ? "intended, in doubt" : e.state.replace("-", " ")), el("span", { class: "soft" }, `visit ${e.visit}`)),
    el("p", {}, e.remedy.charAt(0).toUpperCase() + e.remedy.slice(1) + "."),
    el("dl", { class: "pairs" },
      wide("Key", said(e.key, { class: "mono" })), wide("Calls", `${e.calls}, the last under fence ${e.fence} of `, said(e.holder)),
      pair("Policy", e.policy), pair("Begun", stamp(e.intendedAt)), pair("Called until", e.doubt || e.state !== "intended" ? stamp(e.callUntil) : when(e.callUntil)),
      e.settledAt && pair("Settled", stamp(e.settledAt)), e.evidence && wide("Evidence", said(e.evidence)),
      e.resultDigest && pair("Result", `${bytes(e.resultBytes)}, ${digest(e.resultDigest)}`)),
    e.result !== undefined && block(JSON.stringify(e.result), { class: "mono" }),
    e.settle && el("p", {}, el("button", { type: "button", onclick: () => context.open("settle", e) }, "Settle it…"))));
}
effects.watches = (s) => s.effects;

function artifacts(s, lines, context) {
  if (s.artifacts.length === 0) return none("It has made nothing.");
  return s.artifacts.map((a) => {
    const preview = el("div", { class: "preview" });
    const button = el("button", { type: "button", onclick: () => look(preview, button, s, a, context) }, "Preview");
    return el("article", { class: "item" },
      el("h3", {}, said(a.id), " ", a.sealed ? badge("completed", "sealed") : badge("working", "open")),
      el("dl", { class: "pairs" }, pair("Revision", String(a.revision)), pair("So far", `${plural(a.chunks, "chunk")}, ${bytes(a.bytes)}${a.sealed ? ": complete" : ": not complete"}`), pair("Digest", digest(a.digest)), pair("Last chunk", `entry ${a.seq}`)),
      el("p", {}, button), preview);
  });
}
artifacts.watches = (s) => s.artifacts;

// look reads the artifact's first chunks, as its callers do. What is no text is named.
async function look(preview, button, s, a, context) {
  button.disabled = true;
  try {
    const got = await read(s.head.agent, context.id, `artifacts/${encodeURIComponent(a.id)}?limit=20&revision=${a.revision}`);
    put(preview, got.chunks.map((c) => (c.part?.text !== undefined ? block(c.part.text, { class: "mono" }) : el("p", { class: "soft" }, `chunk ${c.number}: ${c.mediaType || "no text"}, ${bytes(c.bytes)}, SHA-256 ${digest(c.checksum)}`))),
      got.total > got.chunks.length && none(`The first ${got.chunks.length} of ${count(got.total)} chunks.`));
  } catch (err) {
    put(preview, el("p", { class: "error" }, err.message));
  }
  button.disabled = false;
}

function webhooks(s, lines, context) {
  if (s.endpoints.length === 0) return none("Nobody is told of it.");
  return s.endpoints.map((e) => {
    const wanted = Math.max(e.wanted, s.head.seq);
    const bar = el("i");
    bar.style.setProperty("width", (100 * Math.min(e.cursor, wanted)) / Math.max(1, wanted) + "%");
    return el("article", { class: e.state ? "item doubt" : "item" },
      el("h3", {}, said(e.origin), " ", badge(e.state || "active", (e.state || "active").replace("-", " "))),
      el("div", { class: "meter", title: `has ${e.cursor} of ${wanted} entries` }, bar),
      el("dl", { class: "pairs" },
        pair("Name", said(e.id)), pair("Has", `entry ${count(e.cursor)} of ${count(wanted)}, ${plural(e.delivered ?? 0, "update")} taken`),
        pair("Failures", `${e.failures ?? 0} in a row`), e.nextAt && !e.nextAt.startsWith("0001") && pair("Next attempt", when(e.nextAt)), e.holder && pair("At work", said(e.holder)), e.scheme && pair("Authorization", said(e.scheme))),
      (e.attempts ?? []).length > 0 && el("table", { class: "small" }, el("caption", { class: "unseen" }, "Latest attempts"),
        el("thead", {}, el("tr", {}, ["At", "Entry", "Attempt", "Answer", "Took"].map((h) => el("th", { scope: "col" }, h)))),
        el("tbody", {}, [...e.attempts].reverse().map((a) => el("tr", {}, el("td", { class: "mono" }, stamp(a.at)), el("td", {}, String(a.seq)), el("td", {}, String(a.number)), el("td", {}, a.status ? String(a.status) : "none", a.error ? [" ", said(a.error)] : ""), el("td", {}, a.millis + " ms"))))),
      el("p", {}, el("button", { type: "button", onclick: () => context.open("replay", e) }, "Replay…")));
  });
}
webhooks.watches = (s) => [s.endpoints, s.head.seq];

