// The golden traces through the JavaScript SDK's types: a StreamResponse a line on standard input, and on standard output
// the SDK's version, then each document as the types write it after they have read it.

import { readFileSync } from 'node:fs';
import { StreamResponse } from '@a2a-js/sdk';

const say = (line) => console.log(JSON.stringify(line));

say({ client: '@a2a-js/sdk', version: JSON.parse(readFileSync(new URL('node_modules/@a2a-js/sdk/package.json', import.meta.url))).version });
for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) say(StreamResponse.toJSON(StreamResponse.fromJSON(JSON.parse(line))));
