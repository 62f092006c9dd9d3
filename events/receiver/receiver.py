#!/usr/bin/env python3
"""A receiver of Holdfast's webhooks: it verifies them, stores each update once and in order, and answers when it has
stored it. It needs Python 3.8 or newer and the package cryptography.

    python3 receiver.py http://127.0.0.1:8080            take webhooks on 127.0.0.1:8091
    python3 receiver.py http://127.0.0.1:8080 --list     print what was taken, in order

HOLDFAST_WEBHOOK_TOKEN is the token that the webhooks were configured with. Without one, everybody whose agent runs on the
same deployment can have updates of theirs sent here: the signature says who sent it, the token whom it was meant for.

The rules are the functions and classes below; the server around them is Python's own, which belongs behind a proxy.
"""

import argparse
import base64
import hmac
import http.client
import http.server
import json
import os
import re
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

TOLERANCE = 300  # seconds that a request's timestamp may be from our clock
MAX_BODY = 1 << 20  # updates have some 100 KB at most
MAX_ID = 256
MAX_SIGNATURES = 8
MAX_KEYS = 8
KEYS_FOR = 3600  # a key that was withdrawn is believed no longer than this
FETCH_EVERY = 10  # strangers who send nonsense must not make us call
FETCH_AGAIN = 1  # after a fetch that has failed
FETCH_TIME = 5
EXTENSION = "urn:holdfast:a2a:durable-task:v1"


class Refused(Exception):
    """A request that is not taken. The status is the answer; the reason is for our log."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None  # an error, then


class Keys:
    """The public keys of a deployment, as it publishes them."""

    def __init__(self, server, now=time.time):
        url = urllib.parse.urlsplit(server)
        local = url.hostname in ("localhost", "127.0.0.1", "::1")
        if not url.hostname or url.scheme != "https" and not (url.scheme == "http" and local):
            raise ValueError(f"the deployment's address, {server!r}, is not https: who changes the keys on their way can sign")
        self.url, self.now = server.rstrip("/") + "/.well-known/webhook-keys.json", now
        self.opener = urllib.request.build_opener(NoRedirect)
        self.fetching = threading.Lock()
        self.fetched = (0.0, [])  # when, what
        self.failed = (0.0, None)

    def at_most(self, seconds):
        """Keys that were fetched so many seconds ago at most."""
        keys = self.known(seconds)
        if keys:
            return keys
        with self.fetching:  # one at a time; the others take what it has brought
            keys = self.known(seconds)
            if keys:
                return keys
            at, failure = self.failed
            if failure and self.now() - at < FETCH_AGAIN:
                raise Refused(503, failure)
            try:
                keys = self.fetch()
            except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as e:
                failure = f"the keys of the sender cannot be had: {e}"
                self.failed = (self.now(), failure)
                raise Refused(503, failure) from e
            self.fetched, self.failed = (self.now(), keys), (0.0, None)
            return keys

    def known(self, seconds):
        at, keys = self.fetched
        return keys if self.now() - at < seconds else []

    def fetch(self):
        """Reads {"keys":["whpk_…"]}. What is no key that we can use is left out: there may be others one day."""
        with self.opener.open(self.url, timeout=FETCH_TIME) as answer:
            published = json.loads(answer.read(64 << 10))["keys"]
        keys = []
        for text in published:
            try:
                if text.startswith("whpk_"):
                    keys.append(Ed25519PublicKey.from_public_bytes(base64.b64decode(text[5:], validate=True)))
            except ValueError:
                continue
        if not keys:
            raise ValueError("it publishes none that can be used")
        return keys[:MAX_KEYS]

    def verify(self, headers, body):
        """Refuses what the sender has not signed now: Standard Webhooks, v1a. Returns the webhook-id."""
        fields = []
        for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
            values = headers.get_all(name) or []
            if len(values) != 1 or not values[0]:
                raise Refused(401, f"it has {len(values)} times {name}")
            fields.append(values[0])
        message, stamp, signature = fields
        if len(message) > MAX_ID or "." in message:  # which separates what is signed
            raise Refused(401, "its webhook-id is none")
        if not re.fullmatch("[0-9]{1,12}", stamp) or abs(self.now() - int(stamp)) > TOLERANCE:
            raise Refused(401, "it was not signed just now")
        signed = f"{message}.{stamp}.".encode() + body
        signatures = read_signatures(signature)
        # Once with what we have, and if nothing fits, once more with what is published now.
        for seconds in (KEYS_FOR, FETCH_EVERY):
            if fits(self.at_most(seconds), signed, signatures):
                return message
        raise Refused(401, "it is not signed by a key of the sender")


def read_signatures(header):
    """The signatures of the kind that we can verify. There are several while a key is replaced; one that fits is enough."""
    out = []
    for part in header.split():
        kind, _, text = part.partition(",")
        try:
            raw = base64.b64decode(text, validate=True)
        except ValueError:
            continue
        if kind == "v1a" and len(raw) == 64:
            out.append(raw)
    return out[:MAX_SIGNATURES]


def fits(keys, signed, signatures):
    for raw in signatures:
        for key in keys:
            try:
                key.verify(raw, signed)
                return True
            except InvalidSignature:
                continue
    return False


def read_update(message, headers, body):
    """Reads task and sequence from what was signed."""
    try:
        update = json.loads(body)
        (kind, part), = update.items()
        task = part["id" if kind == "task" else "taskId"]
        sequence = part["metadata"][EXTENSION]["sequence"]
        state = part.get("status", {}).get("state", "")
        if not isinstance(task, str) or not task or type(sequence) is not int or sequence < 1:
            raise ValueError("it names no task and sequence")
    except (ValueError, LookupError, TypeError, AttributeError) as e:
        raise Refused(400, f"it is no update: {e}") from e
    # The header is for proxies and logs. Nobody has signed it.
    if headers.get_all("Holdfast-Sequence") != [str(sequence)]:
        raise Refused(400, "its header says another sequence than what is signed")
    return {"id": message, "task": task, "sequence": sequence, "kind": kind, "state": state, "body": update}


class Store:
    """What was taken, in SQLite. It could be any database: what counts is one transaction."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        self.db.executescript("""
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = FULL;
            CREATE TABLE IF NOT EXISTS tasks (task TEXT PRIMARY KEY, last INTEGER NOT NULL, state TEXT NOT NULL DEFAULT '');
            CREATE TABLE IF NOT EXISTS updates (
                number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, task TEXT NOT NULL, sequence INTEGER NOT NULL,
                kind TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL);
        """)

    def take(self, update):
        """Stores an update and what it brings about, both or neither. An exception: it is not known to be stored."""
        with self.lock:
            self.db.execute("BEGIN IMMEDIATE")
            try:
                outcome = self.decide(update)
                if outcome == "taken":
                    self.apply(update)
                self.db.execute("COMMIT")  # on disk behind this
                return outcome
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise

    def decide(self, update):
        if self.db.execute("SELECT 1 FROM updates WHERE id = ?", (update["id"],)).fetchone():
            return "repeat"
        last = self.db.execute("SELECT last FROM tasks WHERE task = ?", (update["task"],)).fetchone()
        if last and update["sequence"] <= last[0]:
            return "late"
        return "taken"

    def apply(self, update):
        """What an update brings about. Yours goes here, over the same connection."""
        row = dict(update, body=json.dumps(update["body"]))
        self.db.execute("INSERT INTO updates (id, task, sequence, kind, state, body) VALUES (:id, :task, :sequence, :kind, :state, :body)", row)
        self.db.execute("INSERT INTO tasks (task, last) VALUES (:task, :sequence) ON CONFLICT (task) DO UPDATE SET last = :sequence", row)
        if update["state"]:
            self.db.execute("UPDATE tasks SET state = :state WHERE task = :task", row)

    def updates(self):
        names = ("id", "task", "sequence", "kind", "state", "body")
        for row in self.db.execute(f"SELECT {', '.join(names)} FROM updates ORDER BY number"):
            update = dict(zip(names, row))
            update["body"] = json.loads(update["body"])
            yield update


class Handler(http.server.BaseHTTPRequestHandler):
    """The webhook's address."""

    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds for whoever sends slowly
    keys = store = None
    token = b""

    def do_POST(self):  # noqa: N802, the server's name for it
        try:
            update = self.read()
            outcome = self.store.take(update)
        except Refused as e:
            self.refuse(e.status, e)
        except (sqlite3.Error, OSError) as e:
            self.refuse(500, e)
        else:
            tell({"outcome": outcome, **{k: update[k] for k in ("task", "sequence", "state", "id")}})
            self.send_response(204)
            self.end_headers()

    def read(self):
        if self.token and not hmac.compare_digest(self.headers.get("A2A-Notification-Token", "").encode(), self.token):
            raise Refused(401, "it does not have our token")
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,12}", length):
            raise Refused(411, "it does not say how long it is")
        if int(length) > MAX_BODY:
            raise Refused(413, "it is too large")
        body = self.rfile.read(int(length))
        if len(body) != int(length):
            raise Refused(400, "it was cut off")
        return read_update(self.keys.verify(self.headers, body), self.headers, body)

    def refuse(self, status, why):
        print(f"refused with {status}: {why}", file=sys.stderr, flush=True)
        self.close_connection = True  # its body may not have been read
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def send_error(self, code, *_):  # whatever is no POST
        self.refuse(405 if code == 501 else code, f"it is a {self.command}")

    def log_message(self, *_):
        pass  # what there is to say is said above


def tell(fact):
    print(json.dumps(fact), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("server", help="address of the deployment, such as https://agents.example; its keys are fetched from there")
    parser.add_argument("--addr", default="127.0.0.1:8091", help="address to take webhooks on")
    parser.add_argument("--state", default="receiver.db", help="file of what was taken")
    parser.add_argument("--list", action="store_true", help="print what was taken, in order, and end")
    options = parser.parse_args()
    Handler.store = Store(options.state)
    if options.list:
        for update in Handler.store.updates():
            tell(update)
        return
    Handler.keys = Keys(options.server)
    Handler.token = os.environ.get("HOLDFAST_WEBHOOK_TOKEN", "").encode()
    host, _, port = options.addr.rpartition(":")
    server = http.server.ThreadingHTTPServer((host.strip("[]"), int(port)), Handler)
    tell({"serving": f"http://{host}:{server.server_address[1]}"})
    server.serve_forever()


if __name__ == "__main__":
    main()
