// What an operator may do. Each action says beforehand what it does, and is on record
// under the operator's name before it is done.

import { block, el, put } from "./dom.js";
import { field, open } from "./dialog.js";
import { act } from "./http.js";
import { count, stamp } from "./format.js";

const ended = ["completed", "failed", "canceled", "rejected"];
const trailerBytes = 64 << 10; // more than an export's last line has

// all are the actions, with what lets each be done.
const all = {
  answer: ["Answer…", (s) => s.state === "input-required"],
  resume: ["Resume…", (s) => !ended.includes(s.state)],
  settle: ["Settle…", (s) => s.effects.some((e) => e.settle)],
  replay: ["Replay…", (s) => s.endpoints.length > 0],
  cancel: ["Cancel…", (s) => !ended.includes(s.state)],
  export: ["Export", () => true],
};

// bar is the row of buttons. They are always there, so that nothing moves.
export function bar() {
  let press = () => {};
  const buttons = Object.fromEntries(Object.entries(all).map(([name, [label]]) => [name, el("button", { type: "button", disabled: true, id: "do-" + name, onclick: () => press(name) }, label)]));
  return {
    node: el("div", { class: "actions", role: "group", "aria-label": "Actions" }, Object.values(buttons)),
    pressed: (f) => (press = f),
    press: (name) => buttons[name].disabled || press(name),
    update(sheet, session) {
      for (const [name, [, can]] of Object.entries(all)) {
        buttons[name].disabled = !(can(sheet) && (session.act || name === "export"));
        if (!session.act && name !== "export") buttons[name].title = "This needs the scope operator:act.";
      }
    },
  };
}

const recorded = (session) => el("p", { class: "soft" }, "It is on record in the ledger, as done by ", el("bdi", {}, session.name), ".");
const noteField = () => field("Why", el("input", { name: "note", maxlength: 500, autocomplete: "off" }), "For the record; may be empty.");

export function start(name, c) {
  ({ answer, resume, settle, replay, cancel, export: take })[name](c);
}

// ask opens a dialog for an action, and says what came of it.
function ask(c, name, dialog, body) {
  open({
    ...dialog, fields: [dialog.fields, recorded(c.session)],
    submit: async (form) => {
      const out = await act(c.sheet.head.task, name, body(new FormData(form)));
      c.say(out.says);
      c.changed();
    },
  });
}

function answer(c) {
  const p = c.sheet.head.pause;
  const asked = c.lines.findLast((l) => l.pause?.number === p.number);
  ask(c, "answer", {
    title: "Answer in the caller's place", verb: "Answer",
    intro: [asked?.text ? block(asked.text) : el("p", { class: "soft" }, "The question came without a text."), el("p", { class: "soft" }, `Pause ${p.number}, deadline ${stamp(p.deadlineAt)}.`)],
    fields: field("Answer", el("textarea", { name: "text", rows: 4, required: true, maxlength: 4000 }), "It becomes a message of the task, which callers see, marked as an operator's."),
  }, (f) => ({ pause: p.number, text: f.get("text") }));
}

function cancel(c) {
  const h = c.sheet.head;
  ask(c, "cancel", {
    title: "Cancel the task?", verb: "Cancel it", danger: true,
    intro: el("p", {}, h.holder ? ["The cancellation is put before ", el("bdi", {}, h.holder), ", who holds the lease: the task ends as canceled, or as completed if it got there first."] : "Nobody holds the lease: the task ends as canceled at once."),
    fields: noteField(),
  }, (f) => ({ note: f.get("note") }));
}

function resume(c) {
  const s = c.sheet;
  const what = s.stuck ? s.stuck.map((t) => t.says).join(" ") : s.sleeps ? "It sleeps, as its agent asked; that is not cut short." : s.head.pause ? "It waits for an answer; before the deadline only that has it go on." : s.head.holder ? "Somebody holds the lease; as long as it lasts, nobody else is let in." : "Nothing says that it is stuck.";
  ask(c, "resume", {
    title: "Resume the task?", verb: "Resume",
    intro: [el("p", {}, what), el("p", {}, "A new execution takes over under a higher generation, and a wait for another attempt ends now. What was committed is not done again. Where a deadline has passed, its outcome is committed instead.")],
    fields: noteField(),
  }, (f) => ({ note: f.get("note"), generation: s.head.generation }));
}

function replay(c) {
  const chosen = c.about ?? c.sheet.endpoints[0];
  const box = el("select", { name: "endpoint" }, c.sheet.endpoints.map((e) => el("option", { value: e.id }, `${e.origin} (${e.id})`)));
  const from = el("input", { name: "since", type: "number", min: 0, max: c.sheet.head.seq, required: true, value: String(chosen.cursor) });
  box.value = chosen.id;
  box.addEventListener("change", () => (from.value = String(c.sheet.endpoints.find((e) => e.id === box.value).cursor)));
  ask(c, "replay", {
    title: "Replay a webhook", verb: "Replay",
    intro: el("p", {}, "It is told again, in order, what comes after an entry; also one that was given up, or that said that it is gone. It sees the same ids as before."),
    fields: [field("Webhook", box), field("After entry", from, `0 sends everything; a number above the cursor leaves out what lies between. The task is at ${count(c.sheet.head.seq)}.`)],
  }, (f) => ({ endpoint: f.get("endpoint"), since: Number(f.get("since")) }));
}

function settle(c) {
  const open = c.sheet.effects.filter((e) => e.settle);
  const chosen = c.about ?? open[0];
  const key = (e) => `${e.visit} ${e.name}`;
  const box = el("select", {}, open.map((e) => el("option", { value: key(e) }, `${e.name}, visit ${e.visit}`)));
  box.value = key(chosen);
  const about = el("p", { class: "soft" });
  const of = () => open.find((e) => key(e) === box.value);
  const tell = () => put(about, "Ask the other side what became of the key ", el("bdi", { class: "mono" }, of().key), `. Last called ${stamp(of().intendedAt)}; policy ${of().policy}.`);
  box.addEventListener("change", tell);
  tell();
  const result = el("textarea", { name: "result", rows: 3, spellcheck: "false", class: "mono" });
  const resultField = field("Result", result, "JSON: what the call would have returned, such as \"re-7731\". The step goes on with it.");
  const radio = (value, label, hint) => {
    const input = el("input", { type: "radio", name: "done", value, required: true });
    input.addEventListener("change", () => {
      resultField.hidden = value !== "yes";
      result.required = value === "yes";
    });
    return el("label", { class: "check" }, input, el("span", {}, el("b", {}, label), " ", hint));
  };
  resultField.hidden = true;
  ask(c, "settle", {
    title: "Settle an effect in doubt", verb: "Settle",
    intro: about,
    fields: [
      field("Effect", box),
      el("fieldset", {}, el("legend", {}, "What the other side says"), radio("yes", "It was done.", "It is never called again."), radio("no", "It was not done.", "It is called again when its step runs again.")),
      resultField,
      field("How it is known", el("input", { name: "note", required: true, maxlength: 500, autocomplete: "off" }), "The evidence: it stands with the effect."),
      !ended.includes(c.sheet.state) && el("label", { class: "check" }, el("input", { type: "checkbox", name: "resume", checked: true }), " Have the task go on now"),
    ],
  }, (f) => ({ visit: of().visit, name: of().name, revision: of().revision, done: f.get("done") === "yes", result: f.get("done") === "yes" ? f.get("result") : "", note: f.get("note"), resume: f.get("resume") !== null, generation: c.sheet.head.generation }));
}

// take downloads the export. That it was asked for is on record, in it too.
async function take(c) {
  try {
    const content = await act(c.sheet.head.task, "export");
    if (await whole(content)) {
      const link = el("a", { download: c.sheet.head.task + ".ndjson" });
      link.href = URL.createObjectURL(content);
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      c.say("Exported; the record says so.");
    } else {
      c.say("Not exported: it broke off before its end. Try again.");
    }
  } catch (err) {
    c.say("Not exported: " + err.message);
  }
  c.changed();
}

// whole says whether an export has its trailer, which is its last line.
async function whole(content) {
  const lines = (await content.slice(-trailerBytes).text()).trimEnd().split("\n");
  try {
    return JSON.parse(lines.at(-1)).kind === "trailer";
  } catch {
    return false; // the line was cut
  }
}
