// The entries of a task in time. Twice to scale: a strip over the task's whole life, and
// beside each entry a bar for the gap before it.

import { block, el, put, said, svg, write } from "./dom.js";
import { bytes, clock, count, day, now, plural, span, stamp } from "./format.js";
import { badge } from "./glyph.js";
import { ask, single } from "./http.js";

const page = 200;
const ended = ["completed", "failed", "canceled", "rejected"];

export function timeline() {
  let lines = [];
  let first = 0; // sequence before the first line that is there
  let days = "";
  let visit = 0;
  let longest = 1;
  let drawn = "";
  let latest = null; // sheet

  const strip = el("div", { class: "strip" });
  const gist = el("p", { class: "gist soft" });
  const more = el("button", { type: "button", class: "quiet earlier", hidden: true }, "Show earlier entries");
  const list = el("ol", { class: "entries" });
  const scroller = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Entries, oldest first" }, more, list);
  const node = el("section", { class: "panel timeline", "aria-labelledby": "h-timeline" }, el("h2", { id: "h-timeline" }, "Timeline"), strip, gist, scroller);

  async function read(id, after, limit, signal) {
    return (await ask(`tasks/${encodeURIComponent(id)}/entries?after=${after}&limit=${limit}`, signal)).lines;
  }

  // advance reads what has come since.
  async function advance(id, sheet, signal) {
    latest = sheet;
    if (lines.length === 0) {
      first = Math.max(0, sheet.head.seq - page);
      more.hidden = first === 0;
      more.onclick = single(async () => {
        const from = Math.max(0, first - page);
        const older = (await read(id, from, first - from, signal)).filter((l) => l.seq <= first);
        lines = [...older, ...lines];
        first = from;
        more.hidden = first === 0;
        const height = list.scrollHeight;
        put(list);
        [days, visit] = ["", 0];
        append(lines, null);
        scroller.scrollTop += list.scrollHeight - height;
        drawn = "";
        paint(latest);
      });
    }
    const bottom = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 40;
    for (let last = lines.at(-1)?.seq ?? first; last < sheet.head.seq; last = lines.at(-1).seq) {
      const fresh = await read(id, last, page, signal);
      if (fresh.length === 0) break;
      const before = lines.at(-1) ?? null;
      lines.push(...fresh);
      append(fresh, before);
      if (bottom) scroller.scrollTop = scroller.scrollHeight;
    }
  }

  function append(fresh, before) {
    for (const l of fresh) {
      const gap = before ? Date.parse(l.at) - Date.parse(before.at) : 0;
      if (day(l.at) !== days) {
        days = day(l.at);
        list.append(el("li", { class: "day" }, days));
      }
      list.append(entry(l, gap, before, visit));
      before = l;
      visit = l.visit ?? visit;
    }
  }

  // paint draws the strip, and the bars in the scale of the longest gap.
  function paint(sheet) {
    const over = ended.includes(sheet.state);
    const from = Date.parse(sheet.head.acceptedAt);
    const to = over ? Date.parse(sheet.head.statusAt) : now();
    const key = `${lines.length} ${first} ${strip.clientWidth} ${over || Math.floor(to / 5000)}`;
    if (key === drawn || lines.length === 0) return;
    drawn = key;
    longest = 1;
    let widest = null;
    lines.forEach((l, i) => {
      const gap = i > 0 ? Date.parse(l.at) - Date.parse(lines[i - 1].at) : 0;
      if (gap > longest) [longest, widest] = [gap, i];
    });
    for (const bar of list.querySelectorAll(".gap i")) bar.style.setProperty("width", (100 * Number(bar.dataset.ms)) / longest + "%");
    put(strip, drawing(lines, from, Math.max(to, from + 1), over), el("div", { class: "ends soft" }, el("span", {}, stamp(sheet.head.acceptedAt)), el("span", {}, over ? stamp(sheet.head.statusAt) : "now")));
    const widestText = widest === null ? "" : `; the longest gap, ${span(longest)}, is before entry ${count(lines[widest].seq)}`;
    write(gist, `${plural(sheet.head.seq, "entry", "entries")} over ${span(to - from)}${first > 0 ? ` (the first ${count(first)} are not loaded)` : ""}${widestText}.`);
  }

  return { node, advance, paint, lines: () => lines, focus: () => scroller.focus() };
}

// drawing is the task's life: its states as bands, its entries as ticks.
function drawing(lines, from, to, over) {
  const width = 1000;
  const x = (at) => (width * (Date.parse(at) - from)) / (to - from);
  const bands = [];
  let state = "submitted";
  let begun = 0;
  const close = (end) => end > begun && bands.push(svg("rect", { x: begun, y: state === "submitted" ? 14 : state.endsWith("required") ? 6 : 2, width: end - begun, height: state === "submitted" ? 6 : state.endsWith("required") ? 14 : 18, class: "band is-" + state }));
  for (const l of lines) {
    if (!l.state || l.state === state) continue;
    close(x(l.at));
    [state, begun] = [l.state, x(l.at)];
  }
  if (!over) close(width);
  const ticks = lines.map((l) => svg("line", { x1: x(l.at), x2: x(l.at), y1: 22, y2: 32, class: l.state ? "tick turn" : "tick" }));
  return svg("svg", { viewBox: `0 0 ${width} 34`, preserveAspectRatio: "none", role: "img", "aria-label": "The task's life to scale: states above, entries below" }, bands, ticks);
}

// entry is a line of the list.
function entry(l, gap, before, visit) {
  const bar = gap > 0 && el("i", { "data-ms": String(gap) });
  return el("li", { class: "entry", "data-seq": String(l.seq) },
    el("span", { class: "seq mono" }, String(l.seq)),
    el("time", { class: "mono", datetime: l.at, title: stamp(l.at, true) + (l.observedAt ? ", observed " + stamp(l.observedAt, true) : "") }, clock(l.at)),
    el("span", { class: "gap", title: before ? span(gap) + " after entry " + before.seq : "the first" }, bar, el("b", { class: "mono" }, before && gap > 0 ? "+" + span(gap) : "")),
    el("div", { class: "what" },
      el("span", { class: "type" }, l.type), l.state && badge(l.state), facts(l, visit).map((f) => el("span", { class: "fact" }, f)),
      el("span", { class: "by soft" }, by(l)),
      l.text && words(l)));
}

// words is a message: two lines of it, or all.
function words(l) {
  const all = block(l.text + (l.clipped ? " …" : ""));
  if (l.text.length < 140 && !l.text.includes("\n")) return el("div", { class: "words" }, el("span", { class: "soft" }, l.role, " "), all);
  return el("details", { class: "words" }, el("summary", {}, el("span", { class: "soft" }, l.role, " "), said(l.text.slice(0, 160).replaceAll("\n", " ") + " …")), all, l.clipped && el("p", { class: "soft" }, "The export has all of it."));
}

// by is who reported an entry, and under which lease.
function by(l) {
  const out = [said(l.producer.startsWith("operator:") ? "an operator (" + l.producer.slice(9, 17) + "…)" : l.producer.startsWith("client:") ? "a caller (" + l.producer.slice(7, 15) + "…)" : l.producer, { title: l.producer })];
  if (l.fence) out.push(", fence ", String(l.fence));
  if (l.sourceSeq) out.push(", its ", String(l.sourceSeq));
  return out;
}

// facts are what an entry says, in short.
function facts(l, visit) {
  const out = [];
  if (l.chunk) out.push([said(l.chunk.artifact), ` ${l.chunk.revision}/${l.chunk.number}, ${bytes(l.chunk.bytes)}${l.chunk.last ? ", the last" : ""}`]);
  if (l.step) out.push(visit === l.visit ? "checkpoint" : ["checkpoint ", said(l.step), `, visit ${l.visit}`]);
  if (l.pause) out.push(`pause ${l.pause.number} until ${stamp(l.pause.deadlineAt)}`);
  if (l.wait) out.push([`until ${stamp(l.wait.until)}`, l.wait.attempt ? `, attempt ${l.wait.attempt} failed` : "", l.wait.reason ? [": ", said(l.wait.reason)] : ""]);
  if (l.receipt) out.push(["receipt ", said(l.receipt.jti), " of ", said(l.receipt.issuer), ` for challenge ${l.receipt.challenge}`]);
  if (l.reason) out.push([said(l.reason)]);
  if (l.unread) out.push(l.unread);
  return out;
}
