// What was refused, what operators did, what proves the history, and the connections,
// which prove nothing.

import { block, copyable, el, put, said } from "./dom.js";
import { bytes, count, digest, plural, span, stamp } from "./format.js";
import { badge, glyph } from "./glyph.js";
import { ask } from "./http.js";

const pair = (name, ...value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
const wide = (name, ...value) => el("div", { class: "wide" }, el("dt", {}, name), el("dd", {}, value));
const none = (text) => el("p", { class: "none soft" }, text);

export function refused(s, lines, context) {
  const c = s.counts;
  const kept = (n, all) => (n < all ? ` (${n} of them are kept)` : "");
  return [
    el("p", {}, `${plural(c.rejections, "command was", "commands were")} refused${kept(s.rejections.length, c.rejections)}, of which ${plural(c.incidents, "incident")}. ${plural(c.hits, "repeated event was", "repeated events were")} answered as the first time (lookup hits).`),
    s.rejections.length > 0 && el("ul", { class: "log" }, s.rejections.map((r) => el("li", { class: r.reason === "conflicting-content" ? "doubt" : undefined },
      el("span", { class: "mono" }, stamp(r.at)), el("b", {}, r.reason === "conflicting-content" && glyph("warn"), r.reason, r.reason === "conflicting-content" && " (incident)"),
      el("span", {}, said(r.detail)), el("span", { class: "soft" }, said(r.producer), r.eventId && [", event ", said(r.eventId)], r.fence ? `, fence ${r.fence}` : "")))),
    el("h3", {}, "Quarantine"),
    c.quarantined === 0 ? none("No output came after a cancellation.") : el("p", {}, `${plural(c.quarantined, "piece")} of output came after the task was canceled${kept(s.quarantine.length, c.quarantined)}. Callers are not shown them.`),
    s.quarantine.length > 0 && el("ul", { class: "log" }, s.quarantine.map((q) => {
      const content = el("div");
      return el("li", {}, el("span", { class: "mono" }, stamp(q.at)), el("b", {}, said(q.eventId)), el("span", {}, `${bytes(q.bytes)}, SHA-256 ${digest(q.digest)}`), el("span", { class: "soft" }, "from ", said(q.producer)),
        q.kept ? el("button", { type: "button", class: "quiet", onclick: () => piece(content, context.id, q.number) }, "Show") : el("span", { class: "soft" }, "too large to be kept"), content);
    })),
  ];
}
refused.watches = (s) => [s.counts, s.quarantine.length];

async function piece(content, id, number) {
  try {
    const got = await ask(`tasks/${encodeURIComponent(id)}/quarantine/${number}`);
    put(content, block(got.payload, { class: "mono" }));
  } catch (err) {
    put(content, el("p", { class: "error" }, err.message));
  }
}

export function operators(s) {
  if (s.acts.length === 0) return none("No operator has acted on it.");
  const more = (s.counts.acts ?? 0) - s.acts.length;
  return [
    el("ul", { class: "log" }, s.acts.map((a) => el("li", {},
      el("span", { class: "mono" }, stamp(a.at)), el("b", {}, a.action), el("span", {}, a.detail && said(a.detail), a.refused && el("em", { class: "warn" }, glyph("warn"), "refused: ", said(a.refused))), el("span", { class: "soft" }, "by ", said(a.by))))),
    more > 0 && none(`${plural(more, "later action is", "later actions are")} counted and not kept.`),
  ];
}
operators.watches = (s) => s.acts.length;

export function receipt(s, lines, context) {
  const result = el("div", { role: "status" });
  const check = el("button", { type: "button", onclick: () => verify(result, check, context.id) }, "Check the whole history");
  const r = s.receipt;
  if (s.head.seq <= 500) verify(result, check, context.id);
  return [
    el("h3", {}, r ? "Terminal receipt" : "No receipt yet"),
    r ? el("dl", { class: "pairs" }, pair("Entry", String(r.seq)), wide("Digest", copyable(r.chain, () => {})), wide("Manifest", copyable(r.manifest, () => {})), r.reason && pair("Reason", said(r.reason)))
      : el("p", { class: "soft" }, "The entry that ends the task is its receipt. Until then, this is the last that was accepted:"),
    !r && el("dl", { class: "pairs" }, pair("Entry", String(s.head.seq)), wide("Digest", copyable(s.head.chain, () => {}))),
    el("h3", {}, "Chain"),
    el("p", { class: "soft" }, "Numbering, digests, transitions, fences, chunks, effects and deadlines are held against the invariants, as local verify does. A chain that somebody recomputed as a whole cannot be told from the true one: hold the digest against a receipt that was kept elsewhere."),
    el("p", {}, check), result,
  ];
}
receipt.watches = (s) => [s.receipt, s.head.seq];

async function verify(result, button, id) {
  button.disabled = true;
  try {
    const got = await ask(`tasks/${encodeURIComponent(id)}/check`);
    put(result, got.violations.length === 0
      ? el("p", { class: "ok" }, badge("completed", "sound"), ` Nothing is broken in ${plural(got.entries, "entry", "entries")}; the chain ends with ${digest(got.chain)}.`)
      : [el("p", { class: "bad" }, badge("failed", "broken"), ` ${plural(got.violations.length, "violation")}:`), el("ul", { class: "log" }, got.violations.map((v) => el("li", {}, el("b", {}, v.invariant), el("span", {}, said(v.detail)), el("span", { class: "soft" }, `line ${v.line} of the export`))))]);
  } catch (err) {
    put(result, el("p", { class: "error" }, err.message));
  }
  button.disabled = false;
}

export function connections(s, lines, context) {
  const list = el("div", {}, none("…"));
  ask(`tasks/${encodeURIComponent(context.id)}/connections`).then((got) => {
    if (!got.here) put(list, none("Their records are in the log of the function that serves the API."));
    else if (got.connections.length === 0) put(list, none("None is on record."));
    else put(list, got.more && none("Older ones are not shown."), el("ul", { class: "log" }, [...got.connections].reverse().map((c) => el("li", {},
      el("span", { class: "mono" }, stamp(c.openedAt)), el("b", {}, c.reason || "open"), el("span", {}, c.kind, c.closedAt ? `, after entry ${count(c.from)} to ${count(c.to)}` : `, after entry ${count(c.from)}`), el("span", { class: "soft" }, c.closedAt ? "for " + span(Date.parse(c.closedAt) - Date.parse(c.openedAt)) : "not closed")))));
  }, (err) => put(list, el("p", { class: "error" }, err.message)));
  return [el("p", { class: "soft" }, "Supporting evidence only. A stream that was cut says nothing about the task: what happened is in the ledger, and nothing there depends on this."), list];
}
connections.watches = (s) => s.head.seq;
