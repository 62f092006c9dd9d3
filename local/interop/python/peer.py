"""The SDK's client against one server, and what a caller makes of its answers."""

from contextlib import aclosing
from uuid import uuid4

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import ClientCallContext
from a2a.server.tasks.task_manager import append_artifact_to_task
from a2a.types import (
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    Task,
    TaskState,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value


EXTENSION = 'urn:holdfast:a2a:durable-task:v1'

ENDED = {
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
}


class Differs(Exception):
    """What came is not what had to come."""


def check(fine, what):
    if not fine:
        raise Differs(what)


def same(got, want, what):
    if got != want:
        raise Differs(f'{what}: got {brief(got)}, want {brief(want)}')


def brief(value):
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + '…'


async def refused(call, error, what):
    """The call must fail with this error of the SDK."""
    try:
        await call
    except error:
        return
    except Exception as e:
        raise Differs(f'{what}: got {e!r}, want {error.__name__}') from e
    raise Differs(f'{what}: it was not refused, want {error.__name__}')


def text_part(text):
    return Part(text=text)


def data_part(value):
    return Part(data=ParseDict(value, Value()), media_type='application/json')


def message(*parts, **fields):
    parts = [text_part(p) if isinstance(p, str) else p for p in parts]
    return Message(message_id=str(uuid4()), role=Role.ROLE_USER, parts=parts, **fields)


def parts_of(holder):
    return [MessageToDict(p) for p in holder.parts]


def text_of(holder):
    return '\n'.join(p.text for p in holder.parts)


def own(metadata):
    """Our extension's metadata of a task or an update."""
    return MessageToDict(metadata).get(EXTENSION, {})


class Seen:
    """What a client knows of a task from its stream alone, folded as the SDK folds it."""

    def __init__(self):
        self.task = None
        self.updates = []
        self.artifact_updates = 0

    def add(self, event):
        kind = event.WhichOneof('payload')
        if kind == 'task':
            check(self.task is None, 'a stream carries the task once, at its beginning')
            self.task = Task()
            self.task.CopyFrom(event.task)
            return
        check(self.task is not None, f'the stream begins with {kind}, not with the task')
        update = event.status_update if kind == 'status_update' else event.artifact_update
        same(update.task_id, self.task.id, 'taskId of an update')
        same(update.context_id, self.task.context_id, 'contextId of an update')
        self.updates.append(update)
        if own(update.metadata).get('replay'):
            return
        if kind == 'status_update':
            self.task.status.CopyFrom(update.status)
        else:
            self.artifact_updates += 1
            append_artifact_to_task(self.task, update)

    def sequences(self):
        return [int(own(u.metadata)['sequence']) for u in self.updates]

    def texts(self):
        """The status messages of the updates."""
        statuses = (u.status for u in self.updates if hasattr(u, 'status'))
        return [text_of(s.message) for s in statuses if s.HasField('message')]


class Peer:
    """A client of one binding."""

    def __init__(self, base, binding):
        self.base = base
        self.binding = binding

    async def __aenter__(self):
        config = dict(supported_protocol_bindings=[self.binding])
        self.plain = await ClientFactory(ClientConfig(streaming=False, **config)).create_from_url(self.base)
        self.streaming = await ClientFactory(ClientConfig(**config)).create_from_url(self.base)
        return self

    async def __aexit__(self, *_):
        await self.plain.close()
        await self.streaming.close()

    async def card(self):
        import httpx

        async with httpx.AsyncClient() as http:
            return await A2ACardResolver(http, self.base).get_agent_card()

    async def key_provider(self):
        """Gives the key that signed a card, from where the signature says that it is."""
        import httpx
        import jwt

        async with httpx.AsyncClient() as http:
            found = (await http.get(self.base + '/.well-known/jwks.json')).json()['keys']

        def key(kid, jku):
            same(jku, self.base + '/.well-known/jwks.json', 'address of the keys')
            return next(jwt.PyJWK(k) for k in found if k['kid'] == kid)

        return key

    async def send(self, m, immediately=False, **configuration):
        request = SendMessageRequest(
            message=m,
            configuration=SendMessageConfiguration(return_immediately=immediately, **configuration),
        )
        events = [e async for e in self.plain.send_message(request)]
        same(len(events), 1, 'answers to a send')
        return events[0].task

    async def get(self, task_id, **fields):
        return await self.plain.get_task(GetTaskRequest(id=task_id, **fields))

    async def stream(self, m, until=None):
        return await self.fold(self.streaming.send_message(SendMessageRequest(message=m)), until)

    async def fold(self, events, until=None, began=None):
        """Folds a stream to its end, or drops it once the condition holds."""
        seen = Seen()
        async with aclosing(events) as open_events:
            async for event in open_events:
                seen.add(event)
                if began is not None:
                    began.set()
                if until is not None and until(seen):
                    return seen
        check(until is None, 'the stream ended before it could be cut')
        check(seen.task is not None, 'the stream was empty')
        return seen

    async def agrees(self, seen):
        """What was folded is what GetTask says."""
        task = await self.get(seen.task.id)
        same(MessageToDict(seen.task.status), MessageToDict(task.status), 'status from the stream, and of GetTask')
        same(
            [MessageToDict(a) for a in seen.task.artifacts],
            [MessageToDict(a) for a in task.artifacts],
            'artifacts from the stream, and of GetTask',
        )
        return task


def header(name, value):
    return ClientCallContext(service_parameters={name: value})
