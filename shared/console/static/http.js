// Requests. The key is in this tab's session storage and nowhere else: it goes out as a
// header, so that there is no cookie which another site could use.

import { heard } from "./format.js";

const slot = "holdfast-key";
const askTime = 60000; // a question that has no answer by then gets none
let refused = () => {};

// onRefused is told when a key is needed.
export function onRefused(tell) {
  refused = tell;
}

export const signedIn = () => sessionStorage.getItem(slot) !== null;
export const signIn = (key) => sessionStorage.setItem(slot, key);
export const signOut = () => sessionStorage.removeItem(slot);

// Failure is an answer that is an error, in words for the operator.
export class Failure extends Error {
  constructor(status, reason, message) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

function headers(more) {
  const out = { Accept: "application/json", ...more };
  const key = sessionStorage.getItem(slot);
  if (key !== null) out.Authorization = "Bearer " + key;
  return out;
}

async function send(address, options) {
  let answer;
  try {
    answer = await fetch(address, { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", cache: "no-store", ...options });
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Failure(0, "UNREACHABLE", "The server does not answer.");
  }
  if (answer.ok) return answer;
  let said = {};
  try {
    said = (await answer.json()).error ?? {};
  } catch {
    // it is no JSON, as from a gateway
  }
  if (answer.status === 401) refused();
  throw new Failure(answer.status, said.reason ?? said.details?.[0]?.reason ?? "FAILED", said.message ?? "The server answered with " + answer.status + ".");
}

// single lets f run once at a time, so that what is shown comes in the order in which it
// was asked for. Whoever calls meanwhile gets one more run, which begins when this one ends.
export function single(f) {
  let running = null;
  let next = null;
  const run = () => {
    next = null;
    running = f().finally(() => (running = null));
    return running;
  };
  return () => next ?? (running === null ? run() : (next = running.then(run, run)));
}

// ask reads something of the console's.
export async function ask(path, signal) {
  const bound = AbortSignal.timeout(askTime);
  const answer = await send("console/api/" + path, { headers: headers(), signal: signal ? AbortSignal.any([signal, bound]) : bound });
  const out = await answer.json();
  if (out.at) heard(out.at);
  return out;
}

// act does something.
export async function act(task, action, body) {
  const answer = await send(`console/api/tasks/${encodeURIComponent(task)}/${action}`, {
    method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body ?? {}),
  });
  if (action !== "export") return answer.json();
  try {
    return await answer.blob();
  } catch {
    throw new Failure(0, "CUT", "It broke off on the way. Try again.");
  }
}

// read reads something of a task's from the door, as its callers do.
export async function read(agent, task, rest) {
  return (await send(`${encodeURIComponent(agent)}/tasks/${encodeURIComponent(task)}/${rest}`, { headers: headers() })).json();
}

// subscribe follows a task on the stream that its callers have (A2A SubscribeToTask), and
// calls back for each update. It returns when the stream ends.
export async function subscribe(agent, task, updated, signal) {
  const answer = await send(`${encodeURIComponent(agent)}/tasks/${encodeURIComponent(task)}:subscribe`, {
    method: "POST", headers: headers({ Accept: "text/event-stream", "A2A-Version": "1.0" }), signal,
  });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    // What came is read from the ledger, which has more than callers see: the stream says when.
    if (frames.some((f) => f.includes("data:"))) updated();
  }
}
