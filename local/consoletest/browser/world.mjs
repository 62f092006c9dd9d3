// What there is to look at: tasks, as callers and workers make them, and a webhook that
// does not take its updates until it is told to.

import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { patience } from "./check.mjs";

// hostile is markup, a change of direction, escapes, and what nobody can see.
export const hostile = "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'> \u202egnp.exe\u202c \u2066isolated\u2069 \x1b[31mred\x07 zero\u200bwidth \u{e0041} مرحبا بالعالم";

// caller speaks A2A to a server.
export class Caller {
  constructor(url, key) {
    this.url = url;
    this.headers = { "A2A-Version": "1.0", "Content-Type": "application/a2a+json", ...(key && { Authorization: "Bearer " + key }) };
  }

  async call(method, path, body) {
    const answer = await fetch(this.url + path, { method, headers: this.headers, body: body && JSON.stringify(body) });
    const out = await answer.json();
    return { status: answer.status, out };
  }

  async must(method, path, body) {
    const { status, out } = await this.call(method, path, body);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(out)}`);
    return out;
  }

  // send begins a task and returns its ID.
  async send(text, { agent = "desk", hook } = {}) {
    const configuration = { returnImmediately: true, ...(hook && { taskPushNotificationConfig: { id: "hook", url: hook } }) };
    const out = await this.must("POST", `/${agent}/message:send`, { message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] }, configuration });
    return out.task.id;
  }

  // until waits for a state.
  async until(id, state, agent = "desk") {
    const end = Date.now() + 20000 * patience;
    for (;;) {
      const task = await this.must("GET", `/${agent}/tasks/${id}`);
      if (task.status.state === state) return task;
      if (Date.now() > end) throw new Error(`task ${id} is ${task.status.state}, want ${state}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  // event reports as a worker from outside does.
  event(id, eventId, payload, more = {}) {
    const canonical = JSON.stringify(sorted(payload));
    const payloadDigest = createHash("sha256").update(canonical).digest("hex");
    return this.call("POST", `/fieldwork/tasks/${id}/events`, { eventId, producer: "w1", observedAt: new Date().toISOString(), payloadDigest, payload, ...more });
  }
}

const sorted = (v) => (v === null || typeof v !== "object" ? v : Array.isArray(v) ? v.map(sorted) : Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])));

// quarantined is a task whose worker went on after it was canceled, repeated itself, and
// said two things under one ID.
export async function quarantined(caller) {
  const id = await caller.send("work outside", { agent: "fieldwork" });
  const claimed = await caller.event(id, "1-0", { kind: "claim", leaseSeconds: 60 });
  const fence = claimed.out.fence ?? claimed.out.receipt?.fence;
  await caller.event(id, "1-1", { kind: "status", text: "begun" }, { fence, sourceSequence: 1 });
  await caller.event(id, "1-1", { kind: "status", text: "begun" }, { fence, sourceSequence: 1 });
  await caller.event(id, "1-1", { kind: "status", text: "begun otherwise" }, { fence, sourceSequence: 1 });
  await caller.call("POST", `/fieldwork/tasks/${id}:cancel`);
  await caller.event(id, "1-2", { kind: "cancel" }, { fence, sourceSequence: 2 });
  await caller.event(id, "1-3", { kind: "status", text: hostile }, { fence, sourceSequence: 3 });
  await caller.until(id, "TASK_STATE_CANCELED", "fieldwork");
  return id;
}

// Receiver is a webhook. It refuses until it is told to take what comes.
export class Receiver {
  constructor() {
    this.takes = new Set(); // paths
    this.taken = [];
    this.server = createServer((request, answer) => {
      let body = "";
      request.on("data", (part) => (body += part));
      request.on("end", () => {
        const takes = this.takes.has(request.url);
        if (takes) this.taken.push(request.url + " " + request.headers["holdfast-sequence"]);
        answer.writeHead(takes ? 204 : 500).end();
      });
    });
  }

  async listen() {
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
