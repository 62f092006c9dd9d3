// Shortcuts. Single letters are for those who want them: they can be switched off, and do
// nothing while somebody writes.

import { el } from "./dom.js";
import { open } from "./dialog.js";

const slot = "holdfast-keys";
let view = {};
let pending = "";

// everywhere are the shortcuts of every view.
const everywhere = {
  "g t": ["go to the tasks", () => (location.hash = "#/tasks")],
  "g h": ["go to the health", () => (location.hash = "#/health")],
  "?": ["show the keys", () => showKeys()],
};

export const bind = (keys) => (view = keys);
const enabled = () => localStorage.getItem(slot) !== "off";

const written = (target) => target.closest?.("input, textarea, select, dialog") !== null;

export function listen() {
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape" && written(e.target) && !e.target.closest("dialog")) e.target.blur();
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || written(e.target)) return;
    if (!enabled() && e.key !== "?") return;
    const pressed = pending ? pending + " " + e.key : e.key;
    pending = "";
    const known = { ...everywhere, ...view };
    if (known[pressed]) {
      e.preventDefault();
      known[pressed][1]();
    } else if (Object.keys(known).some((k) => k.startsWith(pressed + " "))) {
      pending = pressed;
    }
  });
}

export function showKeys() {
  const rows = (keys) => Object.entries(keys).map(([k, [what]]) => el("div", {}, el("dt", {}, k.split(" ").map((one, i) => [i > 0 && " ", el("kbd", {}, one)])), el("dd", {}, what)));
  const on = el("input", { type: "checkbox", id: "keys-on", checked: enabled() });
  on.addEventListener("change", () => localStorage.setItem(slot, on.checked ? "on" : "off"));
  open({
    title: "Keys",
    fields: [
      el("h3", {}, "In this view"), el("dl", { class: "keys" }, rows(view)),
      el("h3", {}, "Everywhere"), el("dl", { class: "keys" }, rows(everywhere)),
      el("label", { class: "check", for: "keys-on" }, on, " Use single keys"),
    ],
  });
}
