// The SDK's client against one server, and what a caller makes of its answers.

import { isDeepStrictEqual } from 'node:util';
import { randomUUID } from 'node:crypto';
import { Artifact, Part, SendMessageRequest, Task, TaskStatus } from '@a2a-js/sdk';
import { AgentCardResolver, ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';

export const EXTENSION = 'urn:holdfast:a2a:durable-task:v1';

/** What came is not what had to come. */
export class Differs extends Error {}

export function check(fine, what) {
  if (!fine) throw new Differs(what);
}

function brief(value) {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length <= 300 ? text : `${text.slice(0, 300)}…`;
}

export function same(got, want, what) {
  if (!isDeepStrictEqual(got, want)) throw new Differs(`${what}: got ${brief(got)}, want ${brief(want)}`);
}

/** The call must fail with this error of the SDK; it may fail before it returns a promise. */
export async function refused(call, name, what) {
  try {
    await call();
  } catch (e) {
    if (e.name === name) return;
    throw new Differs(`${what}: got ${e.name}: ${e.message}, want ${name}`);
  }
  throw new Differs(`${what}: it was not refused, want ${name}`);
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const textPart = (text) => Part.fromJSON({ text });

export const dataPart = (value) => ({
  content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: 'application/json',
});

export function message(parts, fields = {}) {
  const { message: m } = SendMessageRequest.fromJSON({ message: { messageId: randomUUID(), role: 'ROLE_USER', ...fields } });
  m.parts = parts.map((p) => (typeof p === 'string' ? textPart(p) : p));
  return m;
}

export const partsOf = (holder) => holder.parts.map((p) => Part.toJSON(p));

export const textOf = (holder) =>
  (holder?.parts ?? []).map((p) => (p.content?.$case === 'text' ? p.content.value : '')).join('\n');

export const stateOf = (task) => TaskStatus.toJSON(task.status).state;

export const ended = (status) =>
  ['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED'].includes(TaskStatus.toJSON(status).state);

/** Our extension's metadata of a task or an update. */
export const own = (holder) => holder.metadata?.[EXTENSION] ?? {};

/** What a client knows of a task from its stream alone. The SDK brings no fold: this is A2A §4.2.2. */
export class Seen {
  task;
  updates = [];
  artifactUpdates = 0;

  add({ payload: { $case: kind, value } }) {
    if (kind === 'task') {
      check(!this.task, 'a stream carries the task once, at its beginning');
      this.task = Task.fromJSON(Task.toJSON(value));
      return;
    }
    check(this.task, `the stream begins with ${kind}, not with the task`);
    same(value.taskId, this.task.id, 'taskId of an update');
    same(value.contextId, this.task.contextId, 'contextId of an update');
    this.updates.push(value);
    if (own(value).replay) return;
    if (kind === 'statusUpdate') {
      this.task.status = value.status;
      return;
    }
    this.artifactUpdates++;
    const at = this.task.artifacts.findIndex((a) => a.artifactId === value.artifact.artifactId);
    if (value.append) {
      check(at >= 0, `an append to an artifact that is not there: ${value.artifact.artifactId}`);
      this.task.artifacts[at].parts.push(...value.artifact.parts);
    } else if (at >= 0) {
      this.task.artifacts[at] = { ...value.artifact, parts: [...value.artifact.parts] };
    } else {
      this.task.artifacts.push({ ...value.artifact, parts: [...value.artifact.parts] });
    }
  }

  get sequences() {
    return this.updates.map((u) => own(u).sequence);
  }

  /** The status messages of the updates. */
  get texts() {
    return this.updates.filter((u) => u.status?.message).map((u) => textOf(u.status.message));
  }

  /** Those of them that are numbers. */
  get numbers() {
    return this.texts.filter((t) => /^\d+$/.test(t)).map(Number);
  }
}

/** A client of one binding. */
export class Peer {
  static async of(base, binding) {
    const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [binding] });
    const peer = new Peer();
    peer.base = base;
    peer.client = await new ClientFactory(options).createFromUrl(base);
    same(peer.client.transport.protocolName, binding, 'binding of the client');
    return peer;
  }

  card() {
    return AgentCardResolver.default.resolve(this.base);
  }

  send(m, configuration = {}) {
    return this.client.sendMessage({ tenant: '', message: m, metadata: undefined, configuration });
  }

  get(id, fields = {}) {
    return this.client.getTask({ tenant: '', id, ...fields });
  }

  cancel(id) {
    return this.client.cancelTask({ tenant: '', id, metadata: undefined });
  }

  list(fields) {
    return this.client.listTasks({ tenant: '', contextId: '', status: 0, pageToken: '', ...fields });
  }

  stream(m, until) {
    return this.fold(this.client.sendMessageStream({ tenant: '', message: m, metadata: undefined, configuration: undefined }), until);
  }

  subscribe(id, options, began) {
    return this.fold(this.client.resubscribeTask({ tenant: '', id }, options), undefined, began);
  }

  /** Folds a stream to its end, or drops it once the condition holds. */
  async fold(events, until, began) {
    const seen = new Seen();
    for await (const event of events) {
      seen.add(event);
      began?.();
      if (until?.(seen)) return seen;
    }
    check(!until, 'the stream ended before it could be cut');
    check(seen.task, 'the stream was empty');
    return seen;
  }

  async poll(id, until) {
    for (const limit = Date.now() + 30_000; Date.now() < limit; await sleep(50)) {
      const task = await this.get(id);
      if (until(task.status)) return task;
    }
    throw new Differs('the task did not get there in 30 s');
  }

  /** What was folded is what GetTask says. */
  async agrees(seen) {
    const task = await this.get(seen.task.id);
    same(TaskStatus.toJSON(seen.task.status), TaskStatus.toJSON(task.status), 'status from the stream, and of GetTask');
    same(seen.task.artifacts.map(Artifact.toJSON), task.artifacts.map(Artifact.toJSON), 'artifacts from the stream, and of GetTask');
    return task;
  }
}
