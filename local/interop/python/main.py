"""The Python SDK's part of the interop driver: main.py BASE BINDING.

Prints one JSON object a line: the client's version, then the outcome of each scenario.
"""

import asyncio
import importlib.metadata
import json
import sys
import traceback

from peer import Differs, Peer
from scenarios import SCENARIOS


def say(**line):
    print(json.dumps(line), flush=True)


async def main(base, binding):
    say(client='a2a-sdk (Python)', version=importlib.metadata.version('a2a-sdk'))
    async with Peer(base, binding) as peer:
        for name, play in SCENARIOS.items():
            try:
                async with asyncio.timeout(60):
                    say(scenario=name, note=await play(peer) or '')
            except Differs as e:
                say(scenario=name, failed=str(e))
            except Exception as e:
                traceback.print_exc()
                say(scenario=name, failed=f'{type(e).__name__}: {e}')


asyncio.run(main(*sys.argv[1:]))
