// Small plots. Each says in words what it shows; a grid of columns needs no color.

import { el, svg } from "./dom.js";
import { count } from "./format.js";

const width = 300;
const height = 64;

const plot = (label, ...children) => svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "plot", role: "img", "aria-label": label }, children);

// columns are counts per step, the latest on the right.
export function columns(values, r, state, title) {
  const most = Math.max(1, ...values);
  const w = width / values.length;
  const shape = values.map((v, i) => v > 0 && svg("rect", { x: i * w, y: height - (v / most) * (height - 8), width: Math.max(1, w - 1), height: (v / most) * (height - 8), class: "column is-" + state }, svg("title", {}, `${count(v)} at ${new Date(Date.parse(r.from) + i * r.stepSeconds * 1000).toISOString().slice(11, 16)}Z`)));
  return plot(`${title}: at most ${count(most)} in a minute`, svg("line", { x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5, class: "axis" }), shape);
}

// histogram is how many fall in each class, with the bounds below.
export function histogram(values, bounds, state) {
  const most = Math.max(1, ...values);
  const names = values.map((_, i) => (i < bounds.length ? "< " + short(bounds[i]) : "more"));
  const inWords = values.map((v, i) => v > 0 && `${names[i]}: ${count(v)}`).filter(Boolean).join(", ") || "none";
  return el("div", { class: "histogram", role: "img", "aria-label": `${state} for ${inWords}` }, values.map((v, i) => {
    const bar = el("i", { class: "is-" + state, title: `${names[i]}: ${count(v)}` });
    bar.style.setProperty("height", (100 * v) / most + "%");
    return el("span", { "aria-hidden": "true" }, el("b", {}, bar), el("small", {}, i < bounds.length ? short(bounds[i]) : "more"));
  }));
}

// short is a bound in one unit: 5 m.
const short = (seconds) => (seconds < 3600 ? seconds / 60 + " m" : seconds < 86400 ? seconds / 3600 + " h" : seconds / 86400 + " d");

// spark is what a light has shown since the page was opened.
export function spark(past) {
  const most = Math.max(1, ...past.map(([, v]) => v));
  const from = past[0][0];
  const wide = Math.max(1, past.at(-1)[0] - from);
  const points = past.map(([at, v]) => `${((at - from) / wide) * width},${18 - (v / most) * 16}`);
  if (points.length === 1) points.push(`${width},${points[0].split(",")[1]}`);
  return svg("svg", { viewBox: `0 0 ${width} 20`, preserveAspectRatio: "none", class: "spark", role: "img", "aria-label": `${past.length} looks, at most ${count(most)}` }, svg("polyline", { points: points.join(" ") }));
}
