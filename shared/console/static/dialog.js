// Dialogs: what will be done, in words, before it is done.

import { el, put } from "./dom.js";

// open shows a dialog with a form. submit gets the form and returns what to say, or throws.
export function open({ title, intro, fields, verb, danger, submit }) {
  const error = el("p", { class: "error", role: "alert" });
  const go = el("button", { class: danger ? "main danger" : "main" }, verb ?? "Close");
  const form = el("form", {},
    el("h2", { id: "dialog-title" }, title), intro, fields, error,
    el("div", { class: "foot" }, submit && el("button", { type: "button", onclick: () => box.close() }, "Not now"), go));
  const box = el("dialog", { "aria-labelledby": "dialog-title" }, form);
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    if (!submit) {
      box.close();
      return;
    }
    put(error);
    go.disabled = true;
    try {
      await submit(form);
      box.close();
    } catch (err) {
      put(error, err.message);
      go.disabled = false;
    }
  });
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}

let fieldCount = 0;

// field is an input with its label and, perhaps, a hint.
export function field(label, input, hint) {
  const id = "field-" + ++fieldCount;
  input.id = id;
  if (hint) input.setAttribute("aria-describedby", id + "-hint");
  return el("div", { class: "field" }, el("label", { for: id }, label), input, hint && el("p", { id: id + "-hint", class: "soft" }, hint));
}
