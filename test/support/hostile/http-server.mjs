import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

/**
 * A hostile server on loopback, in its own process. The path of a request names the answer: `/<name>/<key>/…`.
 * Connections, requests and bytes are counted under the key. The program talks over an IPC channel: its first message
 * has its ports, and it answers `counts` with what it has counted.
 */
const OK = 'HTTP/1.1 200 OK\r\n';
const JSON_HEAD = `${OK}content-type: application/json\r\n`;
const ZEROS = Buffer.alloc(64 * 1024 * 1024);
const BOMBS = {
  gzip: gzipSync(ZEROS),
  deflate: deflateSync(ZEROS),
  br: brotliCompressSync(ZEROS.subarray(0, 8 << 20)),
};

/** The same seed gives the same bytes. */
const bytesOf = (seed) => createHash('shake256', { outputLength: 4_096 }).update(`${seed}`).digest();

/** Writes `part` for ever, as fast as the client reads. */
function flood(socket, head, part) {
  socket.write(head);
  const more = () => {
    while (!socket.destroyed) if (!socket.write(part)) return void socket.once('drain', more);
  };
  more();
}

/** Writes `head`, and then `piece` every `ms` milliseconds for ever. */
function drip(socket, head, piece, ms = 200) {
  socket.write(head);
  const timer = setInterval(() => socket.write(piece), ms);
  socket.on('close', () => clearInterval(timer));
}

const whole =
  (status, body, headers = '') =>
  (socket) => {
    const bytes = Buffer.from(body);
    socket.write(
      `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\n${headers}content-length: ${bytes.length}\r\n\r\n`,
    );
    socket.end(bytes);
  };
const encoded = (coding, body) => (socket) => {
  socket.write(`${JSON_HEAD}content-encoding: ${coding}\r\ncontent-length: ${body.length}\r\n\r\n`);
  socket.end(body);
};
const text = (raw) => (socket) => socket.end(raw);
const open = (raw) => (socket) => socket.write(raw);
const cut = (raw) => (socket) => socket.write(raw, () => setTimeout(() => socket.resetAndDestroy(), 20));
const chunked = `${JSON_HEAD}transfer-encoding: chunked\r\n\r\n`;
/** A client that follows the redirect is counted under `inside-<key>`. */
const redirect =
  (status) =>
  (socket, { key }) => {
    const location = `http://127.0.0.1:${ports.plain}/inside/inside-${key}/`;
    socket.end(`HTTP/1.1 ${status} X\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`);
  };
const many = (line) => Buffer.from(line.repeat(Math.ceil(65_536 / line.length)));

const ANSWERS = {
  nothing: () => undefined,
  garbage: (socket, { seed }) => socket.end(bytesOf(seed)),
  'garbage-for-ever': (socket) => flood(socket, '', Buffer.alloc(65_536, 0xfe)),
  'other-protocol': text('SSH-2.0-OpenSSH_9.6\r\n'),
  'http2-preface': text('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  http09: text('{"a":1}'),
  'bad-status': text('HTTP/1.1 99999 X\r\n\r\n'),
  'cut-status': text('HTTP/1.1 20'),
  'cut-headers': text(`${JSON_HEAD}x-a: `),
  'cut-length': text(`${JSON_HEAD}content-length: 99\r\n\r\n{"a":`),
  'cut-chunk': text(`${chunked}ff\r\n{"a":`),
  'no-end-chunk': text(`${chunked}7\r\n{"a":1}\r\n`),
  'headers-for-ever': (socket) => flood(socket, OK, many('x-header: value\r\n')),
  'header-line-for-ever': (socket) => flood(socket, `${OK}x: `, Buffer.alloc(65_536, 0x79)),
  'header-drip': (socket) => drip(socket, OK, 'x: y\r\n'),
  'body-for-ever': (socket) => flood(socket, `${JSON_HEAD}\r\n`, Buffer.alloc(65_536, 0x20)),
  'length-for-ever': (socket) =>
    flood(socket, `${JSON_HEAD}content-length: 9007199254740991\r\n\r\n`, Buffer.alloc(65_536, 0x20)),
  'chunks-for-ever': (socket) => flood(socket, chunked, many('1\r\n \r\n')),
  'chunk-of-2-pow-63': text(`${chunked}7fffffffffffffff\r\n{`),
  'chunk-size-overflow': text(`${chunked}fffffffffffffffffff\r\n{`),
  'chunk-nonsense': text(`${chunked}zz\r\n{"a":1}\r\n0\r\n\r\n`),
  'chunk-negative': text(`${chunked}-7\r\n{"a":1}\r\n0\r\n\r\n`),
  'chunk-extension-for-ever': (socket) => flood(socket, `${chunked}7;a=`, Buffer.alloc(65_536, 0x79)),
  'trailers-for-ever': (socket) => flood(socket, `${chunked}2\r\n{}\r\n0\r\n`, many('x-trailer: value\r\n')),
  'body-drip': (socket) => drip(socket, `${JSON_HEAD}content-length: 9999\r\n\r\n{`, ' '),
  'chunk-drip': (socket) => drip(socket, chunked, '1\r\n \r\n'),
  'body-stops': open(`${JSON_HEAD}content-length: 99\r\n\r\n{`),
  'status-drip': (socket) => drip(socket, 'HTTP/1.1 ', '2'),
  'gzip-bomb': encoded('gzip', BOMBS.gzip),
  'deflate-bomb': encoded('deflate', BOMBS.deflate),
  'brotli-bomb': encoded('br', BOMBS.br),
  'gzip-gzip': encoded('gzip, gzip', gzipSync(BOMBS.gzip)),
  'gzip-broken': encoded('gzip', Buffer.from('{"a":1}')),
  'gzip-cut': encoded('gzip', BOMBS.gzip.subarray(0, 1_000)),
  'coding-unknown': encoded('x-unknown', Buffer.from('{"a":1}')),
  'length-negative': text(`${JSON_HEAD}content-length: -1\r\n\r\n{}`),
  'length-nonsense': text(`${JSON_HEAD}content-length: 2x\r\n\r\n{}`),
  'length-twice': text(`${JSON_HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{} `),
  'length-and-chunks': text(`${JSON_HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`),
  'length-of-2-pow-64': text(`${JSON_HEAD}content-length: 18446744073709551616\r\n\r\n{}`),
  'continue-storm': (socket) => flood(socket, '', many('HTTP/1.1 100 Continue\r\n\r\n')),
  'processing-storm': (socket) => flood(socket, '', many('HTTP/1.1 102 Processing\r\n\r\n')),
  'hints-storm': (socket) => flood(socket, '', many('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')),
  'hints-drip': (socket) => drip(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n'),
  upgrade: open('HTTP/1.1 101 Go\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  'redirect-301': redirect(301),
  'redirect-302': redirect(302),
  'redirect-303': redirect(303),
  'redirect-307': redirect(307),
  'redirect-308': redirect(308),
  'reset-at-once': (socket) => socket.resetAndDestroy(),
  'reset-in-status': cut('HTTP/1.1 2'),
  'reset-in-headers': cut(`${JSON_HEAD}x-a: b`),
  'reset-after-headers': cut(`${JSON_HEAD}content-length: 99\r\n\r\n`),
  'reset-in-body': cut(`${JSON_HEAD}content-length: 99\r\n\r\n{"a":`),
  end: (socket) => socket.end(),
  html: text(`${OK}content-type: text/html\r\ncontent-length: 14\r\n\r\n<h1>hello</h1>`),
  'html-as-json': whole(200, '<!doctype html><title>Sign in</title>'),
  empty: whole(200, ''),
  'json-deep': whole(200, '['.repeat(300_000) + ']'.repeat(300_000)),
  'json-deep-members': whole(200, `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`),
  'json-8-mb': whole(200, JSON.stringify({ a: 'x'.repeat(8 << 20) })),
  'json-keys': whole(200, `{${Array.from({ length: 200_000 }, (_, n) => `"k${n}":1`).join(',')}}`),
  'json-key-twice': whole(200, '{"issuer":"a","issuer":"b","id":1,"id":2}'),
  'json-proto': whole(200, '{"__proto__":{"issuer":"x","id":1},"constructor":{"prototype":{"polluted":1}}}'),
  'json-number': whole(200, '{"id":1e999,"exp":-1e999}'),
  'json-nul': whole(200, '{"a":"\\u0000"}'),
  'json-surrogate': whole(200, '{"a":"\\ud800"}'),
  'json-bom': whole(200, '\ufeff{"a":1}'),
  'json-utf16': whole(200, Buffer.from('\ufeff{"a":1}', 'utf16le')),
  'json-not-utf8': whole(200, Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
  'json-null': whole(200, 'null'),
  'json-list': whole(200, '[]'),
  'json-cut': whole(200, '{"a":'),
  'two-answers': text(`${JSON_HEAD}content-length: 2\r\n\r\n{}${JSON_HEAD}content-length: 2\r\n\r\n{}`),
  'more-than-length': (socket) => flood(socket, `${JSON_HEAD}content-length: 2\r\n\r\n{}`, Buffer.alloc(65_536, 0x79)),
  'retry-for-ever': whole(503, '{}', `retry-after: ${'9'.repeat(300)}\r\n`),
  'status-204': text('HTTP/1.1 204 X\r\n\r\n'),
  'status-304': text('HTTP/1.1 304 X\r\n\r\n'),
  ...Object.fromEntries(
    [206, 400, 401, 403, 404, 429, 500, 502, 503, 999].map((status) => [`status-${status}`, whole(status, '{}')]),
  ),
  inside: whole(200, '{}'),
};

/** The answers of a server that should speak TLS. */
const TLS = {
  'tls-garbage': (socket) => socket.end(Buffer.alloc(4_096, 0x41)),
  'tls-nothing': () => undefined,
  'tls-plain-http': text(`${OK}\r\n`),
  'tls-alert': (socket) => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, 0x28])),
  'tls-hello-for-ever': (socket) =>
    flood(socket, Buffer.from([0x16, 3, 3, 0x40, 0, 2, 0xff, 0xff, 0xff]), Buffer.alloc(65_536)),
  'tls-records-for-ever': (socket) => flood(socket, '', Buffer.from([0x16, 3, 3, 0, 1, 0])),
  'tls-reset': (socket) => socket.resetAndDestroy(),
};

const counted = new Map();
const countOf = (key) => {
  const found = counted.get(key) ?? { connections: 0, requests: 0, bytes: 0 };
  counted.set(key, found);
  return found;
};
const seed = Number(process.argv[2]);
const ports = {};

/** Counts the bytes that the kernel has taken. */
function watch(socket, key) {
  const count = countOf(key);
  count.connections++;
  socket.on('close', () => {
    count.bytes += socket.bytesWritten - socket.writableLength;
  });
}

const listen = (speak) =>
  new Promise((resolve) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined); // the client may cut the connection
      speak(socket);
    });
    server.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });

/** Answers for the steps of a sign-in before and after the hostile answer, as an honest provider gives them. */
const honest = new Map();

ports.plain = await listen((socket) => {
  let head = '';
  let known = false;
  socket.on('data', (part) => {
    if (head.includes('\r\n\r\n')) return;
    head += part.toString('latin1');
    if (!head.includes('\r\n\r\n')) return;
    const [, path = ''] = head.split(' ', 2);
    const [, name = '', key = '', ...rest] = path.split(/[/?]/);
    if (!known) watch(socket, key);
    known = true;
    const count = countOf(key);
    count.requests++;
    const kept = honest.get(`${key}/${rest.join('/')}`);
    const answer = kept === undefined ? ANSWERS[name] : whole(200, kept);
    (answer ?? whole(500, '{"error":"the server of the test has no such answer"}'))(socket, {
      key,
      seed: seed + count.requests,
    });
  });
});
for (const [name, speak] of Object.entries(TLS))
  ports[name] = await listen((socket) => {
    watch(socket, name);
    socket.once('data', () => speak(socket));
  });

process.on('message', (message) => {
  if (message === 'counts') process.send({ counts: Object.fromEntries(counted) });
  else {
    for (const [path, body] of Object.entries(message.honest)) honest.set(path, body);
    process.send({ kept: true });
  }
});
process.on('disconnect', () => process.exit());
process.send({ ports, names: Object.keys(ANSWERS).filter((name) => name !== 'inside') });
