#!/usr/bin/env python3
"""A worker for an agent that is served from outside: it turns a text into capitals, one line at a time.

It needs nothing but Python's standard library (3.8 or newer). What it shows is not the work but how to report it so
that nothing is lost and nothing happens twice, whatever fails: the network, the server, or this process.

    python3 worker.py http://127.0.0.1:8080/capitals            take tasks as they come
    python3 worker.py http://127.0.0.1:8080/capitals --task ID  work on one and end

Exit codes: 0 the task has ended, 1 it cannot be worked on. HOLDFAST_KEY is an API key with the scopes caller and
producer, where the server asks who calls.
"""

import argparse
import datetime
import hashlib
import http.client
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request
import uuid

ARTIFACT = "capitals"


class Refused(Exception):
    """The server has read the event and does not take it: sending it again would not help."""

    def __init__(self, reason, text, retry_after=0.0):
        super().__init__(f"{reason}: {text}")
        self.reason, self.retry_after = reason, retry_after


def canonical(value):
    """RFC 8785 for what this worker sends: names are ASCII, numbers are small integers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Server:
    """The agent's address. Every call is repeated until it was answered."""

    def __init__(self, url, patience):
        self.url, self.patience = url.rstrip("/"), patience

    def call(self, method, path, body=None):
        """Repeats a request as it is, byte by byte: the server knows by the event ID what it has answered already."""
        headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
        if os.environ.get("HOLDFAST_KEY"):
            headers["Authorization"] = "Bearer " + os.environ["HOLDFAST_KEY"]
        data = None if body is None else json.dumps(body).encode()
        deadline, pause = time.monotonic() + self.patience, 0.05
        while True:
            try:
                request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
                with urllib.request.urlopen(request, timeout=10) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as e:
                failure = told(e)
                if e.code < 500 and failure.reason not in ("SEQUENCE_GAP", "COORDINATE_GAP"):
                    raise failure from e
            except (OSError, http.client.HTTPException, ValueError) as e:  # refused, reset, timed out, cut in the middle of the answer
                failure = e
            if time.monotonic() > deadline:
                raise failure
            time.sleep(max(getattr(failure, "retry_after", 0), random.uniform(0, pause)))
            pause = min(pause * 2, 5)


def told(e):
    """An answer that is an error. Its reason is in google.rpc.ErrorInfo."""
    retry_after = float(e.headers.get("Retry-After") or 0)
    try:
        error = json.load(e)["error"]
        return Refused(error["details"][0]["reason"], error["message"], retry_after)
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return Refused(f"HTTP_{e.code}", e.reason, retry_after)


class Lease:
    """What a claim gives: a fence for everything that is reported, until somebody else claims the task."""

    def __init__(self, server, task, producer, seconds):
        self.server, self.task, self.producer, self.seconds = server, task, producer, seconds
        # A claim has a name of its own each time: the same one again would be answered with the same, old, fence.
        answer = self.send({"kind": "claim", "leaseSeconds": seconds}, "claim-" + uuid.uuid4().hex, {})
        self.fence, self.work = answer["fence"], answer["work"]
        self.last = self.work["last"]["sourceSequence"]
        self.renewed = time.monotonic()

    def send(self, payload, event_id, numbers):
        event = {
            "eventId": event_id, "producer": self.producer,
            "observedAt": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "payload": payload, "payloadDigest": sha256(canonical(payload)), **numbers,
        }
        return self.server.call("POST", f"/tasks/{self.task}/events", event)

    def report(self, payload):
        """The next report. It is counted only when it was accepted, and its name says under which fence it was sent:
        what was refused for a lost fence stays refused."""
        number = self.last + 1
        answer = self.send(payload, f"{self.fence}-{number}", {"fence": self.fence, "sourceSequence": number})
        self.last = number
        return answer

    def renew(self):
        """Keeps the lease. Work that takes longer than a lease at a time renews from a thread of its own."""
        if time.monotonic() - self.renewed > self.seconds / 3:
            self.send({"kind": "renew", "leaseSeconds": self.seconds}, "renew-" + uuid.uuid4().hex, {"fence": self.fence})
            self.renewed = time.monotonic()


def capitals(lease, pause):
    """The work. It goes on behind the chunks that are in the artifact already, whoever has reported them, and says of each
    chunk where it stands: one that is there already is not written again, whatever its event was called."""
    text = "".join(part.get("text", "") for part in lease.work["message"]["parts"])
    lines = text.splitlines(keepends=True)
    if not lines:
        lease.report({"kind": "reject", "reason": "no text", "text": "There is no text to be turned into capitals."})
        return
    at_hand = next((a for a in lease.work["artifacts"] if a["artifactId"] == ARTIFACT), {"revision": 1, "chunks": 0})
    for i in range(at_hand["chunks"], len(lines)):
        time.sleep(pause)  # here be work
        lease.renew()
        content = lines[i].upper()
        lease.report({"kind": "chunk", "chunks": [{
            "artifactId": ARTIFACT, "revision": at_hand["revision"], "number": i + 1, "lastChunk": i == len(lines) - 1,
            "part": {"text": content}, "checksum": sha256(content.encode()),
        }]})
    lease.report({"kind": "complete", "text": f"{len(lines)} lines in capitals."})


def work_on(server, task, options):
    """Works on a task until it has ended. True: it has."""
    while True:
        try:
            lease = Lease(server, task, options.producer, options.lease)
            try:
                capitals(lease, options.pause)
                return True
            except Refused as e:
                if e.reason != "CANCEL_REQUESTED":
                    raise
                lease.report({"kind": "cancel"})
                return True
        except Refused as e:
            if e.reason == "POST_TERMINAL":
                return True
            if e.reason == "LEASE_HELD":
                if not options.task:
                    return False  # somebody works on it; there are others
                time.sleep(e.retry_after)
                continue
            if e.reason not in ("FENCE_LOST", "STALE_SEQUENCE"):
                print(f"task {task}: {e}", file=sys.stderr)
                return False
            # Another process of ours has the lease now, or had it: what it has done is in the answer to the next claim.
            time.sleep(random.uniform(0, 0.2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", help="address of the agent, such as http://127.0.0.1:8080/capitals")
    parser.add_argument("--task", help="work on this task and end")
    parser.add_argument("--producer", default="worker", help="this worker's name; a second worker at the same time needs another one")
    parser.add_argument("--lease", type=int, default=30, help="seconds of a lease")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds of work for each line")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds until a server that does not answer is given up")
    options = parser.parse_args()
    server = Server(options.url, options.patience)
    if options.task:
        return 0 if work_on(server, options.task, options) else 1
    while True:
        for state in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"):
            for task in server.call("GET", f"/tasks?status={state}&pageSize=50").get("tasks", []):
                work_on(server, task["id"], options)
        time.sleep(1)


if __name__ == "__main__":
    sys.exit(main())
