// Signs for states and lights: each has a shape of its own, so that color only repeats
// what the shape says.

import { el, svg } from "./dom.js";

const ring = ["circle", { cx: 8, cy: 8, r: 6 }];
const shapes = {
  submitted: [["circle", { cx: 8, cy: 8, r: 6, "stroke-dasharray": "2.4 2.3" }]],
  working: [ring, ["path", { d: "M8 2a6 6 0 0 1 0 12z", class: "solid" }]],
  "input-required": [["path", { d: "M2.5 3h11v8h-6l-3 2.5V11h-2z" }], ["path", { d: "M8 5v2.6M8 9v.2" }]],
  "auth-required": [["rect", { x: 3, y: 7, width: 10, height: 7, rx: 1 }], ["path", { d: "M5 7V5a3 3 0 0 1 6 0v2" }]],
  completed: [["circle", { cx: 8, cy: 8, r: 6, class: "solid" }], ["path", { d: "M5 8.2l2.2 2.2L11 6", class: "hole" }]],
  failed: [["path", { d: "M5.2 2h5.6L14 5.2v5.6L10.8 14H5.2L2 10.8V5.2z", class: "solid" }], ["path", { d: "M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8", class: "hole" }]],
  canceled: [ring, ["path", { d: "M3.8 12.2l8.4-8.4" }]],
  rejected: [["path", { d: "M8 1.8L14.2 8 8 14.2 1.8 8z" }], ["path", { d: "M5.4 8h5.2" }]],
  warn: [["path", { d: "M8 2l6.3 11.5H1.7z" }], ["path", { d: "M8 6.2v3.4M8 11.4v.2" }]],
  green: [["circle", { cx: 8, cy: 8, r: 6, class: "solid" }], ["path", { d: "M5 8.2l2.2 2.2L11 6", class: "hole" }]],
  amber: [["path", { d: "M8 2l6.3 11.5H1.7z", class: "solid" }], ["path", { d: "M8 6.2v3.4M8 11.4v.2", class: "hole" }]],
  red: [["path", { d: "M5.2 2h5.6L14 5.2v5.6L10.8 14H5.2L2 10.8V5.2z", class: "solid" }], ["path", { d: "M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8", class: "hole" }]],
  none: [["path", { d: "M4 8h8" }]],
};

// effects' states and deliveries' are shown like the tasks' that they resemble.
const like = { done: "completed", intended: "working", "in-doubt": "warn", active: "working", "given-up": "failed", disabled: "canceled" };

// glyph is a sign alone; what it means stands beside it as text.
export function glyph(name) {
  const shape = shapes[name] ?? shapes[like[name]] ?? shapes.none;
  return svg("svg", { viewBox: "0 0 16 16", width: 14, height: 14, class: "glyph", "aria-hidden": "true", focusable: "false" }, shape.map(([tag, a]) => svg(tag, a)));
}

// badge is a sign with its word.
export const badge = (state, word) => el("span", { class: "badge is-" + state }, glyph(state), el("span", {}, word ?? state));
