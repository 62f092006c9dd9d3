// What each client goes through. The driver knows the scenarios by their names.

import { randomUUID } from 'node:crypto';
import { Part, TaskState } from '@a2a-js/sdk';
import { EXTENSION, check, dataPart, ended, message, own, partsOf, refused, same, stateOf, textOf, textPart } from './peer.mjs';

const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

const ascending = (list) => [...new Set(list)].sort((a, b) => a - b);

async function card(peer) {
  const c = await peer.card();
  same(c.name, 'interop', 'name');
  same(c.supportedInterfaces.map((i) => [i.protocolBinding, i.protocolVersion]), [['JSONRPC', '1.0'], ['HTTP+JSON', '1.0']], 'interfaces');
  check(c.capabilities.streaming, 'the card announces no streaming');
  check(c.capabilities.extensions.some((e) => e.uri === EXTENSION), 'the card does not announce the extension');
  same(c.skills.map((s) => s.id), ['show'], 'skills');
}

async function blockingSend(peer) {
  const m = message(['echo', 'hello']);
  const task = await peer.send(m);
  same(stateOf(task), 'TASK_STATE_COMPLETED', 'state');
  same(textOf(task.status.message), 'hello', 'closing message');
  same(task.artifacts.map(partsOf), [[{ text: 'hello' }]], 'artifacts');
  same(task.history[0].messageId, m.messageId, 'first message of the history');
  same((await peer.send(m)).id, task.id, 'task of the same message sent again');
}

async function nonBlockingSend(peer) {
  const sent = await peer.send(message(['count 10']), { returnImmediately: true });
  check(!ended(sent.status), 'the answer was not immediate');
  const task = await peer.poll(sent.id, ended);
  same(textOf(task.status.message), 'Counted to 10', 'closing message');
  same((await peer.get(task.id, { historyLength: 2 })).history.length, 2, 'messages of a history of 2');
}

async function streaming(peer) {
  const seen = await peer.stream(message(['write']));
  const task = await peer.agrees(seen);
  same(stateOf(task), 'TASK_STATE_COMPLETED', 'state');
  same(Object.fromEntries(task.artifacts.map((a) => [a.artifactId, partsOf(a)])), {
    draft: ['one', 'two', 'three', 'four', 'five'].map((n) => ({ text: `${n}\n` })),
    figures: [{ data: { lines: 5, none: null, list: [null, true, 'x'] } }],
  }, 'artifacts');
  same(seen.artifactUpdates, 7, 'artifact updates');
  check(seen.texts.includes('half way'), 'the progress message is missing');
  for (const [order, state] of [['fail', 'TASK_STATE_FAILED'], ['reject', 'TASK_STATE_REJECTED']]) {
    same(stateOf(await peer.agrees(await peer.stream(message([order])))), state, `state of ${order}`);
  }
}

async function countedTo40(peer, seen) {
  const task = await peer.agrees(seen);
  same(textOf(task.status.message), 'Counted to 40', 'closing message');
  same(task.artifacts.map(partsOf), [range(1, 40).map((n) => ({ text: String(n) }))], 'artifacts');
}

async function resubscribe(peer) {
  const cut = await peer.stream(message(['count 40']), (s) => s.texts.includes('3'));
  const seen = await peer.subscribe(cut.task.id);
  check(!seen.updates.some((u) => own(u).replay), 'a replay without a cursor');
  same(seen.sequences, ascending(seen.sequences), 'sequences');
  check(seen.numbers.length, 'the stream was resumed too late to tell anything');
  same(seen.numbers, range(seen.numbers[0], 40), 'numbers after the resubscription');
  await countedTo40(peer, seen);
}

async function cursor(peer) {
  const cut = await peer.stream(message(['count 40']), (s) => s.texts.includes('5'));
  const last = cut.sequences.at(-3);
  const seen = await peer.subscribe(cut.task.id, { serviceParameters: { 'Last-Event-ID': String(last) } });
  same(seen.sequences.slice(0, 2), cut.sequences.slice(-2), 'first sequences behind the cursor');
  same(seen.sequences, ascending(seen.sequences), 'sequences');
  check(seen.updates.slice(0, 2).every((u) => own(u).replay), 'what the task contains is no replay');
  same(seen.numbers, range(5, 40), 'numbers behind the cursor');
  await countedTo40(peer, seen);
}

async function quiet(peer) {
  same(stateOf(await peer.agrees(await peer.stream(message(['quiet 7'])))), 'TASK_STATE_COMPLETED', 'state');
}

async function inputRequired(peer) {
  const asked = await peer.agrees(await peer.stream(message(['ask'])));
  same(stateOf(asked), 'TASK_STATE_INPUT_REQUIRED', 'state');
  same(textOf(asked.status.message), 'Which city?', 'question');
  same(own(asked).pause, 1, 'number of the pause');
  await refused(() => peer.send(message(['Oslo'], { taskId: asked.id, contextId: 'another' })), 'RequestMalformedError', 'a reply in another context');
  const answer = message(['Oslo'], { taskId: asked.id, contextId: asked.contextId });
  const done = await peer.send(answer);
  same([done.id, textOf(done.status.message)], [asked.id, 'You said Oslo'], 'after the answer');
  same((await peer.send(answer)).id, asked.id, 'task of the answer sent again');

  const waiting = await peer.stream(message(['ask']));
  const task = await peer.agrees(await peer.stream(message(['Bergen'], { taskId: waiting.task.id })));
  same(textOf(task.status.message), 'You said Bergen', 'after the streamed answer');
  check(task.history.every((m) => m.messageId), 'a message of the history has no ID');
}

async function cancel(peer) {
  const task = await peer.send(message(['count 10000']), { returnImmediately: true });
  await peer.poll(task.id, (s) => /^\d+$/.test(textOf(s.message)));
  let watching;
  await new Promise((began, failed) => {
    watching = peer.subscribe(task.id, undefined, began);
    watching.catch(failed);
  });
  same(stateOf(await peer.cancel(task.id)), 'TASK_STATE_CANCELED', 'state');
  same(stateOf(await peer.agrees(await watching)), 'TASK_STATE_CANCELED', 'state at the end of the stream');
  same(stateOf(await peer.cancel(task.id)), 'TASK_STATE_CANCELED', 'state after a second cancel');
  const waiting = await peer.send(message(['ask']));
  same(stateOf(await peer.cancel(waiting.id)), 'TASK_STATE_CANCELED', 'state of a canceled pause');
}

const endpoint = (taskId, id = '') => ({
  tenant: '', taskId, id, url: 'https://hooks.example/a2a', token: 'token-secret',
  authentication: { scheme: 'Bearer', credentials: 'bearer-secret' },
});

async function push(peer) {
  const task = await peer.send(message(['ask']));
  const { client } = peer;
  const named = (id) => ({ tenant: '', taskId: task.id, id });
  const all = { tenant: '', taskId: task.id, pageSize: 0, pageToken: '' };
  if (!(await peer.card()).capabilities.pushNotifications) {
    // The SDK refuses the first three by itself, from the card.
    for (const [what, call] of Object.entries({
      create: () => client.createTaskPushNotificationConfig(endpoint(task.id)),
      get: () => client.getTaskPushNotificationConfig(named('first')),
      list: () => client.listTaskPushNotificationConfig(all),
      delete: () => client.deleteTaskPushNotificationConfig(named('first')),
      'create over the transport': () => client.transport.createTaskPushNotificationConfig(endpoint(task.id), versioned),
      'get over the transport': () => client.transport.getTaskPushNotificationConfig(named('first'), versioned),
      'list over the transport': () => client.transport.listTaskPushNotificationConfig(all, versioned),
      'send with a configuration': () => peer.send(message(['ask']), { taskPushNotificationConfig: endpoint('') }),
    })) {
      await refused(call, 'PushNotificationNotSupportedError', what);
    }
    return 'not offered: each operation was refused';
  }
  const fits = (config, id) => {
    same([config.taskId, config.id, config.url], [task.id, id, 'https://hooks.example/a2a'], 'configuration');
    check(!JSON.stringify(config).includes('secret'), 'a secret came back');
  };
  fits(await client.createTaskPushNotificationConfig(endpoint(task.id, 'first')), 'first');
  const second = await client.createTaskPushNotificationConfig(endpoint(task.id));
  check(!['', 'first'].includes(second.id), `the server gave the id ${second.id}`);
  fits(second, second.id);
  for (const id of ['first', second.id]) fits(await client.getTaskPushNotificationConfig(named(id)), id);
  const { configs } = await client.listTaskPushNotificationConfig(all);
  same(configs.map((c) => c.id).sort(), ['first', second.id].sort(), 'listed configurations');
  for (const c of configs) fits(c, c.id);
  for (const id of ['first', 'first', second.id]) await client.deleteTaskPushNotificationConfig(named(id));
  same((await client.listTaskPushNotificationConfig(all)).configs, [], 'configurations after the deletion');
  await refused(() => client.getTaskPushNotificationConfig(named('first')), 'TaskNotFoundError', 'a deleted configuration');
  return 'offered';
}

const versioned = { serviceParameters: { 'A2A-Version': '1.0' } };

async function listing(peer) {
  const contextId = `context-${randomUUID()}`;
  const made = [];
  for (const n of range(0, 3)) made.push((await peer.send(message(['echo', String(n)], { contextId }))).id);
  made.push((await peer.send(message(['ask'], { contextId }))).id);
  const found = [];
  const sizes = [];
  for (let pageToken = '', more = true; more; more = pageToken !== '') {
    const page = await peer.list({ contextId, pageSize: 2, pageToken });
    found.push(...page.tasks.map((t) => t.id));
    sizes.push([page.tasks.length, page.pageSize, page.totalSize]);
    check(page.tasks.every((t) => !t.artifacts.length && !t.history.length), 'artifacts or history without being asked for');
    pageToken = page.nextPageToken;
  }
  same(found, made.toReversed(), 'tasks, latest first');
  same(sizes, [[2, 2, 5], [2, 2, 5], [1, 2, 5]], 'sizes of the pages');
  const page = await peer.list({ contextId, status: TaskState.TASK_STATE_COMPLETED, includeArtifacts: true, historyLength: 1 });
  same(page.tasks.map((t) => t.id), made.slice(0, 4).reverse(), 'completed tasks');
  same(page.tasks.map((t) => [t.artifacts.length, t.history.length]), Array(4).fill([1, 1]), 'artifacts and histories');
  const none = await peer.list({ contextId, statusTimestampAfter: '2100-01-01T00:00:00Z' });
  same([none.tasks.length, none.totalSize], [0, 0], 'tasks of the future');
  await refused(() => peer.list({ pageSize: 1000 }), 'RequestMalformedError', 'a page too large');
}

async function terminal(peer) {
  const { id } = await peer.send(message(['echo', 'x']));
  const more = (taskId) => message(['more'], { taskId });
  await refused(() => peer.cancel(id), 'TaskNotCancelableError', 'cancel of a completed task');
  await refused(() => peer.send(more(id)), 'UnsupportedOperationError', 'a message to a completed task');
  await refused(() => peer.stream(more(id)), 'UnsupportedOperationError', 'a streamed message to a completed task');
  await refused(() => peer.subscribe(id), 'UnsupportedOperationError', 'a subscription to a completed task');
  const nobody = randomUUID();
  await refused(() => peer.get(nobody), 'TaskNotFoundError', 'an unknown task');
  await refused(() => peer.cancel(nobody), 'TaskNotFoundError', 'cancel of an unknown task');
  await refused(() => peer.send(more(nobody)), 'TaskNotFoundError', 'a message to an unknown task');
  await refused(() => peer.subscribe(nobody), 'TaskNotFoundError', 'a subscription to an unknown task');
  await refused(() => peer.send(message(['sing'])), 'RequestMalformedError', 'an order that the agent does not know');
}

// Scripts, a combining mark, a character beyond the basic plane, and every character
// that some readers of lines take for the end of one.
const TEXT = 'Grüße, 你好, שלום, e\u0301, 🎉\u200d👩; \t\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029; \ufeff\x7f\\"</script>';

async function nonASCII(peer) {
  const parts = [
    textPart(TEXT),
    Part.fromJSON({ raw: Buffer.from(TEXT).toString('base64'), filename: 'Grüße 你好.txt', mediaType: 'text/plain; charset=utf-8' }),
    dataPart({ [TEXT]: [TEXT] }),
  ];
  const want = parts.map((p) => Part.toJSON(p));
  const seen = await peer.stream(message(['echo', ...parts], { metadata: { [TEXT]: TEXT } }));
  check(seen.texts.includes(TEXT), 'the progress message differs');
  const task = await peer.agrees(seen);
  same(textOf(task.status.message), TEXT, 'closing message');
  same(partsOf(task.artifacts[0]), want, 'artifact');
  same(task.history[0].metadata, { [TEXT]: TEXT }, 'metadata of the first message');
  same(partsOf((await peer.send(message(['echo', ...parts]))).artifacts[0]), want, 'artifact of a blocking send');
}

async function large(peer) {
  const value = { rows: range(0, 7999).map((n) => ({ n, text: 'x'.repeat(90), none: null, half: n + 0.5 })) };
  check(JSON.stringify(value).length > 1_000_000, 'the part is too small');
  const task = await peer.agrees(await peer.stream(message(['echo', dataPart(value)])));
  same(stateOf(task), 'TASK_STATE_COMPLETED', 'state');
  let note = '';
  for (const part of [task.artifacts[0].parts[0], task.history[0].parts[1]]) {
    same(part.mediaType, 'application/json', 'media type');
    let got = part.content.value;
    if (part.content.$case === 'url') {
      note = 'comes back as an address';
      got = await (await fetch(part.content.value, { headers: versioned.serviceParameters })).json();
    }
    same(got, value, `the part, ${part.content.$case}`);
  }
  return note;
}

async function nulls(peer) {
  const value = { a: null, b: [null, 1, null], c: { d: null, '': null }, e: [], f: {}, g: '', h: false, i: 0 };
  const values = [value, [null], false, 0, ''];
  const metadata = { x: null, y: [null] };
  const task = await peer.agrees(await peer.stream(message(['echo', ...values.map(dataPart)], { metadata })));
  same(partsOf(task.artifacts[0]).map((p) => p.data), values, 'artifact');
  same(partsOf(task.history[0]).slice(1).map((p) => p.data), values, 'first message');
  same(task.history[0].metadata, metadata, 'metadata of the first message');
  await refused(() => peer.send(message(['echo', dataPart(null)])), 'RequestMalformedError', 'a part that is null');
}

export const scenarios = {
  card,
  'blocking send': blockingSend,
  'non-blocking send and poll': nonBlockingSend,
  'streaming to the end': streaming,
  'cut and resubscribe': resubscribe,
  'resume behind a cursor': cursor,
  'quiet stream': quiet,
  'input-required and answer': inputRequired,
  cancel,
  'push configuration': push,
  'list with paging': listing,
  'terminal-task errors': terminal,
  'non-ASCII text': nonASCII,
  '1 MB data part': large,
  'null values': nulls,
};
