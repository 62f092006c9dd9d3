// The console: which view is shown, and who looks at it.

import { el, put } from "./dom.js";
import { ask, onRefused, signOut } from "./http.js";
import * as health from "./health.js";
import * as keys from "./keys.js";
import { showSignIn } from "./signin.js";
import * as task from "./task.js";
import * as tasks from "./tasks.js";

const main = document.getElementById("main");
const says = document.getElementById("says");
let session = null;
let asking = false; // the form is shown: what it says stays
let leave = () => {};
let quiet = 0;

// say tells the operator something, beside what is shown.
function say(text) {
  put(says, text);
  says.classList.add("on");
  clearTimeout(quiet);
  quiet = setTimeout(() => says.classList.remove("on"), 6000);
}

// decoded is a part of the address; one that somebody has mistyped is taken as it stands.
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

// place is what the address says after the hash.
function place() {
  const [path, query] = location.hash.slice(1).split("?");
  const segments = path.split("/").filter(Boolean).map(decoded);
  return { view: segments[0] ?? "tasks", item: segments[1], query: new URLSearchParams(query ?? "") };
}

function show() {
  leave();
  leave = () => {};
  document.querySelectorAll("dialog").forEach((d) => d.close());
  if (session === null) return;
  const at = place();
  const context = { main, session, say, query: at.query };
  const which = at.view === "health" ? "health" : "tasks";
  for (const name of ["tasks", "health"]) {
    const link = document.getElementById("nav-" + name);
    if (name === which) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (at.view === "health") leave = health.show(context);
  else if (at.view === "tasks" && at.item) leave = task.show(context, at.item);
  else leave = tasks.show(context);
}

function entered(who) {
  [session, asking] = [who, false];
  put(document.getElementById("who"),
    el("span", { class: "soft" }, "tenant "), el("bdi", {}, who.tenant), el("span", { class: "soft" }, who.act ? " as " : " reading as "), el("bdi", {}, who.name),
    !who.open && el("button", { type: "button", class: "quiet", onclick: () => { signOut(); askWho(); } }, "Sign out"));
  show();
}

function askWho() {
  if (asking) return;
  asking = true;
  leave();
  leave = () => {};
  keys.bind({});
  session = null;
  put(document.getElementById("who"));
  document.title = "Sign in – Holdfast console";
  showSignIn(main, entered);
}

async function begin() {
  try {
    entered(await ask("session"));
  } catch (err) {
    if (err.status !== 401) put(main, el("p", { class: "plain error", role: "alert" }, err.message), el("p", { class: "plain" }, el("button", { type: "button", onclick: begin }, "Try again")));
  }
}

onRefused(askWho);
addEventListener("hashchange", () => {
  show();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
document.getElementById("skip").addEventListener("click", () => main.focus());
document.getElementById("keys-open").addEventListener("click", keys.showKeys);
keys.listen();
begin();
