#!/usr/bin/env python3
"""A second operator: what a task came to, from its export alone.

    reconstruct.py [--have ARTIFACT/REVISION/NUMBER ...] EXPORT ...

reads exports of Holdfast (NDJSON, see shared/export/doc.go) and prints for each, as one
line of JSON: who holds the task and under which fence, every accepted transition, what
was refused and why, which chunks are missing behind those that somebody has, and the
digests of its end, computed anew. It asks no server and shares no code with one: Python's
standard library is all that it needs. What does not fit together is named under
"problems", and the exit code is 1.
"""

import argparse
import datetime
import hashlib
import json
import sys

TERMINAL = {"COMPLETED", "FAILED", "CANCELED", "REJECTED"}

# Where a task may go from where (ARCHITECTURE.md, the transition table).
MOVES = {
    None: {"SUBMITTED"},
    "SUBMITTED": {"WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"} | TERMINAL,
    "WORKING": {"INPUT_REQUIRED", "AUTH_REQUIRED"} | TERMINAL,
    "INPUT_REQUIRED": {"WORKING", "AUTH_REQUIRED"} | TERMINAL,
    "AUTH_REQUIRED": {"WORKING", "INPUT_REQUIRED"} | TERMINAL,
}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def netstring(*fields):
    """Fields so that no two lists of them give the same bytes: each behind its length."""
    out = b""
    for field in fields:
        text = str(field).encode()
        out += str(len(text)).encode() + b":" + text
    return out


def millis(instant):
    """Milliseconds since 1970 of an instant such as 2026-03-02T09:00:00.25Z."""
    whole, _, fraction = instant.rstrip("Z").partition(".")
    at = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
    return int(at.timestamp()) * 1000 + int((fraction + "000")[:3])


def members(text, start=0):
    """The members of the object that begins at start: name, value and the bytes of the value.

    Digests are taken over payloads as they stand, so they are not written anew."""
    decoder = json.JSONDecoder()
    at = text.index("{", start) + 1
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "}":
            return
        name, at = decoder.raw_decode(text, at)
        at = text.index(":", at) + 1
        while text[at] in " \t\r\n":
            at += 1
        value, end = decoder.raw_decode(text, at)
        yield name, value, text[at:end]
        at = end


def short(state):
    return state.removeprefix("TASK_STATE_") if state else None


class Task:
    """A task as its export tells it, line by line."""

    def __init__(self):
        self.problems = []
        self.task = self.state = None
        self.seq, self.chain = 0, ""
        self.fence, self.last_holder = 0, None
        self.transitions, self.rejections = [], []
        self.artifacts = {}  # by ID: revision → {"chunks": {number: checksum}, "bytes", "sealed", "digest"}
        self.head, self.terminal, self.counts, self.trailer = {}, None, {}, None
        self.digest = hashlib.sha256()

    def wrong(self, text, *args):
        self.problems.append(text % args)

    def line(self, raw):
        if self.trailer is not None:
            return self.wrong("something stands behind the trailer")
        text = raw.decode()
        found = {name: (value, part) for name, value, part in members(text)}
        kind = found["kind"][0]
        value, part = found[kind]
        if kind == "trailer":
            self.trailer = value
            return self.close()
        self.digest.update(raw)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if kind == "header":
            self.task = value["task"]
        elif kind == "entry":
            self.entry(value, dict((name, bytes_) for name, _, bytes_ in members(part))["payload"])
        elif kind == "rejection":
            self.rejections.append({"reason": value["reason"], "producer": value["producer"], "event": value.get("eventId", ""), "fence": value.get("fence", 0)})
        elif kind == "head":
            self.head = value
            if value["fence"] < self.fence or value["seq"] == self.seq and short(value["state"]) != self.state:
                self.wrong("the head is not what the entries come to")

    def entry(self, e, payload):
        self.seq += 1
        if e["seq"] != self.seq:
            self.wrong("entry %s stands where entry %d belongs", e["seq"], self.seq)
        if sha256(payload.encode()) != e["payloadDigest"]:
            self.wrong("entry %d: the payload is not what its digest says", self.seq)
        self.chain = sha256(netstring(
            "holdfast-entry-1", self.chain, e["task"], e["seq"], e["type"], e["typeVersion"], e["payloadDigest"], e["producer"], e["eventId"],
            e.get("sourceSeq", 0), millis(e["observedAt"]), millis(e["acceptedAt"]), e.get("holder", ""), e.get("fence", 0), e["opId"]))
        if self.chain != e["chain"]:
            self.wrong("entry %d does not follow from those before it", self.seq)
        if self.terminal:
            self.wrong("entry %d comes after the end", self.seq)
        fence = e.get("fence", 0)
        if fence:
            if fence < self.fence:
                self.wrong("entry %d: fence %d after fence %d", self.seq, fence, self.fence)
            self.fence, self.last_holder = fence, e.get("holder")
        said = e["payload"]
        self.move(short(said.get("state")))
        if "chunk" in said:
            self.chunk(said["chunk"])
        if e["type"] == "ended":
            self.end(said["ending"])

    def move(self, to):
        if to is None or to == self.state:
            return
        if to not in MOVES.get(self.state, set()):
            self.wrong("entry %d: from %s to %s", self.seq, self.state, to)
        self.transitions.append({"seq": self.seq, "from": self.state, "to": to})
        self.state = to

    def chunk(self, c):
        revisions = self.artifacts.setdefault(c["artifact"], {})
        r = revisions.setdefault(c["revision"], {"chunks": {}, "bytes": 0, "sealed": False, "digest": ""})
        if r["sealed"] or c["number"] in r["chunks"]:
            self.wrong("entry %d: chunk %s/%d/%d is there already, or behind a seal", self.seq, c["artifact"], c["revision"], c["number"])
        r["chunks"][c["number"]] = c["checksum"]
        r["bytes"] += c["bytes"]
        r["sealed"] = bool(c.get("last"))
        r["digest"] = sha256(netstring("holdfast-artifact-1", r["digest"], c["checksum"]))

    def manifest(self):
        """The digest over the manifest's canonical JSON; everything in it is ASCII or a plain integer."""
        items = []
        for name in sorted(self.artifacts, key=lambda s: s.encode()):
            revision = max(self.artifacts[name])
            r = self.artifacts[name][revision]
            items.append({"id": name, "revision": revision, "chunks": len(r["chunks"]), "bytes": r["bytes"], "digest": r["digest"], "sealed": r["sealed"]})
        return sha256(json.dumps(items, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())

    def end(self, ending):
        digest = self.manifest()
        if digest != ending["manifestDigest"]:
            self.wrong("the manifest's digest is %s, the end says %s", digest, ending["manifestDigest"])
        self.terminal = {"state": self.state, "sequence": self.seq, "digest": self.chain, "manifest": digest}

    def close(self):
        t = self.trailer
        if t["digest"] != self.digest.hexdigest():
            self.wrong("the lines are not those that the trailer's digest is over")
        if (t["seq"], t["chain"]) != (self.seq, self.chain):
            self.wrong("the trailer ends at entry %d, the entries at %d", t["seq"], self.seq)
        for kind, n in t["counts"].items():
            if n != self.counts.get(kind, 0):
                self.wrong("%d lines of kind %s, the trailer says %d", self.counts.get(kind, 0), kind, n)

    def missing(self, have):
        """What is missing behind the chunks that somebody has, and of revisions that came since.

        have: by artifact, (revision, number); (1, 0) of those that are not named."""
        out = []
        for name in sorted(self.artifacts):
            revision, number = have.get(name, (1, 0))
            for r in sorted(self.artifacts[name]):
                chunks = self.artifacts[name][r]["chunks"]
                if sorted(chunks) != list(range(1, len(chunks) + 1)):
                    self.wrong("artifact %s/%d has a gap", name, r)
                out += ["%s/%d/%d" % (name, r, n) for n in sorted(chunks) if r > revision or r == revision and n > number]
        return out

    def report(self, have):
        if self.trailer is None:
            self.wrong("the export is cut: it has no trailer")
        missing = self.missing(have)
        return {
            "task": self.task, "state": self.state, "sequence": self.seq, "chain": self.chain,
            "holder": self.head.get("holder", ""), "fence": self.head.get("fence", 0), "lastHolder": self.last_holder or "", "lastFence": self.fence,
            "transitions": self.transitions, "rejections": self.rejections,
            "incidents": sum(r["reason"] == "conflicting-content" for r in self.rejections),
            "missing": missing, "terminal": self.terminal, "problems": self.problems,
        }


def read(path, have):
    task = Task()
    with open(path, "rb") as lines:
        for number, raw in enumerate(lines, 1):
            try:
                task.line(raw)
            except (ValueError, LookupError, TypeError, AttributeError) as e:
                task.wrong("line %d is not one of an export: %r", number, e)
    return task.report(have)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("exports", nargs="+", metavar="EXPORT")
    parser.add_argument("--have", action="append", default=[], metavar="ARTIFACT/REVISION/NUMBER", help="the last chunk of an artifact that is here already")
    args = parser.parse_args()
    have = {}
    for coordinate in args.have:
        name, revision, number = coordinate.rsplit("/", 2)
        have[name] = int(revision), int(number)
    sound = True
    for path in args.exports:
        report = read(path, have)
        sound = sound and not report["problems"]
        print(json.dumps(report))
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
