"""What each client goes through. The driver knows the scenarios by their names."""

import asyncio
import json

from uuid import uuid4

import httpx

from a2a.types import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Part,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.signing import create_signature_verifier
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from peer import (
    ENDED,
    EXTENSION,
    check,
    data_part,
    header,
    message,
    own,
    parts_of,
    refused,
    same,
    text_of,
    text_part,
)


async def card(peer):
    c = await peer.card()
    same(c.name, 'interop', 'name')
    same([i.protocol_binding for i in c.supported_interfaces], ['JSONRPC', 'HTTP+JSON'], 'bindings')
    same({i.protocol_version for i in c.supported_interfaces}, {'1.0'}, 'protocol versions')
    check(c.capabilities.streaming, 'the card announces no streaming')
    check(EXTENSION in [e.uri for e in c.capabilities.extensions], 'the card does not announce the extension')
    same([s.id for s in c.skills], ['show'], 'skills')
    # Raises unless a signature holds for the card as the SDK has read it.
    create_signature_verifier(await peer.key_provider(), ['EdDSA'])(c)


async def blocking_send(peer):
    m = message('echo', 'hello')
    task = await peer.send(m)
    same(task.status.state, TaskState.TASK_STATE_COMPLETED, 'state')
    same(text_of(task.status.message), 'hello', 'closing message')
    same([parts_of(a) for a in task.artifacts], [[{'text': 'hello'}]], 'artifacts')
    same(task.history[0].message_id, m.message_id, 'first message of the history')
    same((await peer.send(m)).id, task.id, 'task of the same message sent again')


async def poll(peer, task_id, until):
    async with asyncio.timeout(30):
        while True:
            task = await peer.get(task_id)
            if until(task.status):
                return task
            await asyncio.sleep(0.05)


async def non_blocking_send(peer):
    task = await peer.send(message('count 10'), immediately=True)
    check(task.status.state not in ENDED, 'the answer was not immediate')
    task = await poll(peer, task.id, lambda s: s.state in ENDED)
    same(text_of(task.status.message), 'Counted to 10', 'closing message')
    same(len((await peer.get(task.id, history_length=2)).history), 2, 'messages of a history of 2')


async def streaming(peer):
    seen = await peer.stream(message('write'))
    task = await peer.agrees(seen)
    same(task.status.state, TaskState.TASK_STATE_COMPLETED, 'state')
    lines = [{'text': f'{n}\n'} for n in ('one', 'two', 'three', 'four', 'five')]
    same({a.artifact_id: parts_of(a) for a in task.artifacts}, {
        'draft': lines,
        'figures': [{'data': {'lines': 5.0, 'none': None, 'list': [None, True, 'x']}}],
    }, 'artifacts')
    same(seen.artifact_updates, 7, 'artifact updates')
    check('half way' in seen.texts(), 'the progress message is missing')
    for order, state in (('fail', TaskState.TASK_STATE_FAILED), ('reject', TaskState.TASK_STATE_REJECTED)):
        seen = await peer.stream(message(order))
        same((await peer.agrees(seen)).status.state, state, f'state of {order}')


async def counted_to_40(peer, seen):
    task = await peer.agrees(seen)
    same(text_of(task.status.message), 'Counted to 40', 'closing message')
    same([parts_of(a) for a in task.artifacts], [[{'text': str(n)} for n in range(1, 41)]], 'artifacts')


async def resubscribe(peer):
    cut = await peer.stream(message('count 40'), until=lambda s: '3' in s.texts())
    seen = await peer.fold(peer.streaming.subscribe(SubscribeToTaskRequest(id=cut.task.id)))
    check(not any(own(u.metadata).get('replay') for u in seen.updates), 'a replay without a cursor')
    sequences = seen.sequences()
    same(sequences, sorted(set(sequences)), 'sequences')
    counted = [int(t) for t in seen.texts() if t.isdigit()]
    check(counted, 'the stream was resumed too late to tell anything')
    same(counted, list(range(counted[0], 41)), 'numbers after the resubscription')
    await counted_to_40(peer, seen)


async def cursor(peer):
    cut = await peer.stream(message('count 40'), until=lambda s: '5' in s.texts())
    last = cut.sequences()[-3]
    seen = await peer.fold(peer.streaming.subscribe(
        SubscribeToTaskRequest(id=cut.task.id), context=header('Last-Event-ID', str(last))))
    sequences = seen.sequences()
    same(sequences[:2], cut.sequences()[-2:], 'first sequences behind the cursor')
    check(all(own(u.metadata).get('replay') for u in seen.updates[:2]), 'what the task contains is no replay')
    same(sequences, sorted(set(sequences)), 'sequences')
    same([int(t) for t in seen.texts() if t.isdigit()], list(range(5, 41)), 'numbers behind the cursor')
    await counted_to_40(peer, seen)


async def quiet(peer):
    seen = await peer.stream(message('quiet 7'))
    same((await peer.agrees(seen)).status.state, TaskState.TASK_STATE_COMPLETED, 'state')


async def input_required(peer):
    seen = await peer.stream(message('ask'))
    task = await peer.agrees(seen)
    same(task.status.state, TaskState.TASK_STATE_INPUT_REQUIRED, 'state')
    same(text_of(task.status.message), 'Which city?', 'question')
    same(own(task.metadata)['pause'], 1.0, 'number of the pause')
    await refused(peer.send(message('Oslo', task_id=task.id, context_id='another')), InvalidParamsError, 'a reply in another context')
    answer = message('Oslo', task_id=task.id, context_id=task.context_id)
    done = await peer.send(answer)
    same((done.id, text_of(done.status.message)), (task.id, 'You said Oslo'), 'after the answer')
    same((await peer.send(answer)).id, task.id, 'task of the answer sent again')

    seen = await peer.stream(message('ask'))
    seen = await peer.stream(message('Bergen', task_id=seen.task.id))
    task = await peer.agrees(seen)
    same(text_of(task.status.message), 'You said Bergen', 'after the streamed answer')
    same([m.message_id != '' for m in task.history], [True] * len(task.history), 'message IDs in the history')


async def cancel(peer):
    task = await peer.send(message('count 10000'), immediately=True)
    await poll(peer, task.id, lambda s: text_of(s.message).isdigit())
    began = asyncio.Event()
    watching = asyncio.create_task(peer.fold(peer.streaming.subscribe(SubscribeToTaskRequest(id=task.id)), began=began))
    await asyncio.wait([watching, waiting := asyncio.create_task(began.wait())], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    canceled = await peer.plain.cancel_task(CancelTaskRequest(id=task.id))
    same(canceled.status.state, TaskState.TASK_STATE_CANCELED, 'state')
    seen = await watching
    same((await peer.agrees(seen)).status.state, TaskState.TASK_STATE_CANCELED, 'state at the end of the stream')
    again = await peer.plain.cancel_task(CancelTaskRequest(id=task.id))
    same(again.status.state, TaskState.TASK_STATE_CANCELED, 'state after a second cancel')
    asked = await peer.send(message('ask'))
    canceled = await peer.plain.cancel_task(CancelTaskRequest(id=asked.id))
    same(canceled.status.state, TaskState.TASK_STATE_CANCELED, 'state of a canceled pause')


def endpoint(task_id, config_id=''):
    return TaskPushNotificationConfig(
        task_id=task_id, id=config_id, url='https://hooks.example/a2a', token='token-secret',
        authentication=AuthenticationInfo(scheme='Bearer', credentials='bearer-secret'),
    )


async def push(peer):
    task = await peer.send(message('ask'))
    client = peer.plain
    named = dict(task_id=task.id, id='first')
    if not (await peer.card()).capabilities.push_notifications:
        for call in (
            client.create_task_push_notification_config(endpoint(task.id)),
            client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**named)),
            client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task.id)),
            client.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(**named)),
            peer.send(message('ask'), task_push_notification_config=endpoint('')),
        ):
            await refused(call, PushNotificationNotSupportedError, call.__name__)
        return 'not offered: each operation was refused'

    def fits(config, config_id):
        same((config.task_id, config.id, config.url), (task.id, config_id, 'https://hooks.example/a2a'), 'configuration')
        check('secret' not in str(config), 'a secret came back')

    first = await client.create_task_push_notification_config(endpoint(task.id, 'first'))
    fits(first, 'first')
    second = await client.create_task_push_notification_config(endpoint(task.id))
    check(second.id not in ('', 'first'), f'the server gave the id {second.id!r}')
    fits(second, second.id)
    for config_id in ('first', second.id):
        fits(await client.get_task_push_notification_config(
            GetTaskPushNotificationConfigRequest(task_id=task.id, id=config_id)), config_id)
    listing = ListTaskPushNotificationConfigsRequest(task_id=task.id)
    configs = (await client.list_task_push_notification_configs(listing)).configs
    same(sorted(c.id for c in configs), sorted(['first', second.id]), 'listed configurations')
    for c in configs:
        fits(c, c.id)
    for config_id in ('first', 'first', second.id):
        await client.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id=config_id))
    same(len((await client.list_task_push_notification_configs(listing)).configs), 0, 'configurations after the deletion')
    await refused(client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**named)),
                  TaskNotFoundError, 'a deleted configuration')
    return 'offered'


async def listing(peer):
    context = f'context-{uuid4()}'
    made = [(await peer.send(message('echo', str(n), context_id=context))).id for n in range(4)]
    made.append((await peer.send(message('ask', context_id=context))).id)
    found, token, sizes = [], '', []
    while True:
        page = await peer.plain.list_tasks(ListTasksRequest(context_id=context, page_size=2, page_token=token))
        found += [t.id for t in page.tasks]
        sizes.append((len(page.tasks), page.page_size, page.total_size))
        check(not any(t.artifacts or t.history for t in page.tasks), 'artifacts or history without being asked for')
        token = page.next_page_token
        if not token:
            break
    same(found, made[::-1], 'tasks, latest first')
    same(sizes, [(2, 2, 5), (2, 2, 5), (1, 2, 5)], 'sizes of the pages')
    page = await peer.plain.list_tasks(ListTasksRequest(
        context_id=context, status=TaskState.TASK_STATE_COMPLETED, include_artifacts=True, history_length=1))
    same([t.id for t in page.tasks], made[3::-1], 'completed tasks')
    same([(len(t.artifacts), len(t.history)) for t in page.tasks], [(1, 1)] * 4, 'artifacts and histories')
    future = Timestamp()
    future.FromJsonString('2100-01-01T00:00:00Z')
    page = await peer.plain.list_tasks(ListTasksRequest(context_id=context, status_timestamp_after=future))
    same((len(page.tasks), page.total_size), (0, 0), 'tasks of the future')
    await refused(peer.plain.list_tasks(ListTasksRequest(page_size=1000)), InvalidParamsError, 'a page too large')


async def terminal(peer):
    task = await peer.send(message('echo', 'x'))
    await refused(peer.plain.cancel_task(CancelTaskRequest(id=task.id)), TaskNotCancelableError, 'cancel of a completed task')
    await refused(peer.send(message('more', task_id=task.id)), UnsupportedOperationError, 'a message to a completed task')
    await refused(peer.stream(message('more', task_id=task.id)), UnsupportedOperationError, 'a streamed message to a completed task')
    await refused(peer.fold(peer.streaming.subscribe(SubscribeToTaskRequest(id=task.id))),
                  UnsupportedOperationError, 'a subscription to a completed task')
    nobody = str(uuid4())
    await refused(peer.get(nobody), TaskNotFoundError, 'an unknown task')
    await refused(peer.plain.cancel_task(CancelTaskRequest(id=nobody)), TaskNotFoundError, 'cancel of an unknown task')
    await refused(peer.send(message('more', task_id=nobody)), TaskNotFoundError, 'a message to an unknown task')
    await refused(peer.fold(peer.streaming.subscribe(SubscribeToTaskRequest(id=nobody))),
                  TaskNotFoundError, 'a subscription to an unknown task')
    await refused(peer.send(message('sing')), InvalidParamsError, 'an order that the agent does not know')


# Scripts, a combining mark, a character beyond the basic plane, and every character
# that some readers of lines take for the end of one.
TEXT = 'Grüße, 你好, שלום, e\u0301, 🎉\u200d👩; \t\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029; \ufeff\x7f\\"</script>'


async def non_ascii(peer):
    parts = [text_part(TEXT), Part(raw=TEXT.encode(), filename='Grüße 你好.txt', media_type='text/plain; charset=utf-8'), data_part({TEXT: [TEXT]})]
    m = message('echo', *parts, metadata=ParseDict({TEXT: TEXT}, Struct()))
    seen = await peer.stream(m)
    check(TEXT in seen.texts(), 'the progress message differs')
    task = await peer.agrees(seen)
    same(text_of(task.status.message), TEXT, 'closing message')
    same(parts_of(task.artifacts[0]), [MessageToDict(p) for p in parts], 'artifact')
    same(MessageToDict(task.history[0].metadata), {TEXT: TEXT}, 'metadata of the first message')
    same(parts_of((await peer.send(message('echo', *parts))).artifacts[0]), [MessageToDict(p) for p in parts], 'artifact of a blocking send')



async def large(peer):
    value = {'rows': [{'n': n, 'text': 'x' * 90, 'none': None, 'half': n + 0.5} for n in range(8000)]}
    check(len(json.dumps(value)) > 1_000_000, 'the part is too small')
    part = data_part(value)
    seen = await peer.stream(message('echo', part))
    task = await peer.agrees(seen)
    same(task.status.state, TaskState.TASK_STATE_COMPLETED, 'state')
    for got in (task.artifacts[0].parts[0], task.history[0].parts[1]):
        same(got.media_type, 'application/json', 'media type')
        check(got.WhichOneof('content') in ('url', 'data'), f'it came back as {got.WhichOneof("content")}')
        if got.WhichOneof('content') == 'url':
            async with httpx.AsyncClient() as http:
                answer = await http.get(got.url, headers={'A2A-Version': '1.0'})
            check(answer.json() == value, 'what stands at the address differs')
        else:
            check(MessageToDict(got)['data'] == value, 'the part differs')
    return 'comes back as an address' if got.url else ''


async def nulls(peer):
    value = {'a': None, 'b': [None, 1.0, None], 'c': {'d': None, '': None}, 'e': [], 'f': {}, 'g': '', 'h': False, 'i': 0.0}
    m = message('echo', data_part(value), data_part([None]), data_part(False), data_part(0), data_part(''),
                metadata=ParseDict({'x': None, 'y': [None]}, Struct()))
    want = [value, [None], False, 0.0, '']
    seen = await peer.stream(m)
    task = await peer.agrees(seen)
    same([p['data'] for p in parts_of(task.artifacts[0])], want, 'artifact')
    same([p['data'] for p in parts_of(task.history[0])[1:]], want, 'first message')
    same(MessageToDict(task.history[0].metadata), {'x': None, 'y': [None]}, 'metadata of the first message')
    await refused(peer.send(message('echo', data_part(None))), InvalidParamsError, 'a part that is null')


SCENARIOS = {
    'card': card,
    'blocking send': blocking_send,
    'non-blocking send and poll': non_blocking_send,
    'streaming to the end': streaming,
    'cut and resubscribe': resubscribe,
    'resume behind a cursor': cursor,
    'quiet stream': quiet,
    'input-required and answer': input_required,
    'cancel': cancel,
    'push configuration': push,
    'list with paging': listing,
    'terminal-task errors': terminal,
    'non-ASCII text': non_ascii,
    '1 MB data part': large,
    'null values': nulls,
}
