#!/usr/bin/env python3
"""Looks at what sam build left: one static executable for each function, for the right processor, not too large.

    artifacts.py FOLDER arm64|x86_64
"""

import struct
import sys
import zlib
from pathlib import Path

# The size decides how long a cold start takes. The aim is what a function should have; above the limit something was
# linked in that does not belong there.
AIM_BYTES = 12_000_000
LIMIT_BYTES = 14_000_000
MACHINES = {"arm64": 183, "x86_64": 62}  # e_machine of the ELF header
INTERPRETER = 3  # PT_INTERP: the program wants a dynamic linker


def elf(content):
    """Gives machine and program header types."""
    if content[:5] != b"\x7fELF\x02":
        raise ValueError("no 64-bit ELF executable")
    machine = struct.unpack_from("<H", content, 18)[0]
    offset = struct.unpack_from("<Q", content, 32)[0]
    size, count = struct.unpack_from("<HH", content, 54)
    return machine, [struct.unpack_from("<I", content, offset + i * size)[0] for i in range(count)]


def main():
    folder, architecture = Path(sys.argv[1]), sys.argv[2]
    failed = False
    found = sorted(folder.glob("*Function/bootstrap"))
    for path in found:
        content = path.read_bytes()
        machine, headers = elf(content)
        problems = []
        if machine != MACHINES[architecture]:
            problems.append(f"not for {architecture}")
        if INTERPRETER in headers:
            problems.append("not static")
        if len(content) > LIMIT_BYTES:
            problems.append(f"above the limit of {LIMIT_BYTES / 1e6:.0f} MB")
        note = "" if len(content) <= AIM_BYTES else f", above the aim of {AIM_BYTES / 1e6:.0f} MB"
        print(f"{path.parent.name:15} {len(content) / 1e6:5.1f} MB, {len(zlib.compress(content)) / 1e6:4.1f} MB zipped{note}{''.join(', ' + p for p in problems)}")
        failed = failed or bool(problems)
    if len(found) != 6:
        print(f"{len(found)} functions were built, want 6")
        failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
