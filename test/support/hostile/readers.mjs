import { createServer, get } from 'node:http';
import { argv, memoryUsage, stdout } from 'node:process';
import { pathToFileURL } from 'node:url';

/**
 * Opens readers of sources in its own process, and prints what became of them. A process that V8 ends is a finding, and
 * not the end of the tests.
 *
 * Arguments: the address of the compiled gateway, the address of the database, the number of readers, the file of their
 * threads or ''.
 */
const [, , root = '', address = '', count = '1', entry = ''] = argv;
const { openReader } = await import(`${root}/src/sources/reader/reader.js`);
const options = entry === '' ? {} : { entry: pathToFileURL(entry) };
const mib = () => memoryUsage.rss() / 2 ** 20;

// The neighbour: another tenant, whose requests this process answers.
const server = createServer((_, response) => response.end('ok'));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address();
const request = () =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    get({ port, host: '127.0.0.1' }, (response) =>
      response.resume().once('end', () => resolve(performance.now() - began)),
    ).once('error', reject);
  });
await request();
const before = mib();
let [peak, slowest, requests, over] = [before, 0, 0, false];
const neighbour = (async () => {
  while (!over) {
    slowest = Math.max(slowest, await request());
    requests++;
    peak = Math.max(peak, mib());
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
})();
const readers = Array.from({ length: Number(count) }, (_, i) =>
  openReader(
    'chatwoot',
    {
      ...{ address, account: '1', mode: 'poll', period: 1, timeZone: 'UTC', storage: null, reader: `src_${i}` },
    },
    options,
  ),
);
const said = await Promise.all(
  readers.map((one) =>
    one.begin().then(
      () => '',
      (error) => error.message,
    ),
  ),
);
await new Promise((resolve) => setTimeout(resolve, 1_000));
over = true;
await neighbour;
stdout.write(JSON.stringify({ said, slowest, requests, before, peak, after: mib() }), () => process.exit(0));
