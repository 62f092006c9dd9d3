// The JavaScript SDK's part of the interop driver: main.mjs BASE BINDING.
//
// Prints one JSON object a line: the client's version, then the outcome of each scenario.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Differs, Peer, sleep } from './peer.mjs';
import { scenarios } from './scenarios.mjs';

const say = (line) => console.log(JSON.stringify(line));

const limit = async () => {
  await sleep(60_000);
  throw new Differs('not done in 60 s');
};

const [base, binding] = process.argv.slice(2);
const at = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/@a2a-js/sdk/package.json');
say({ client: '@a2a-js/sdk', version: JSON.parse(readFileSync(at)).version });
const peer = await Peer.of(base, binding);
for (const [name, play] of Object.entries(scenarios)) {
  try {
    say({ scenario: name, note: (await Promise.race([play(peer), limit()])) ?? '' });
  } catch (e) {
    if (!(e instanceof Differs)) console.error(e);
    say({ scenario: name, failed: e instanceof Differs ? e.message : `${e.name}: ${e.message}` });
  }
}
process.exit(0);
