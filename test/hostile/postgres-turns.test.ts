import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CERTIFICATE, KEY } from '../support/events/certificate.ts';
import { type Asked, askHostile, wellBehaved } from '../support/hostile/postgres-client.ts';
import { type Case, type HostileServer, hostileServer, message } from '../support/hostile/postgres-server.ts';

/**
 * A hostile database server sends several messages in one turn of the event loop, and one of them is wrong. The driver
 * answers some messages a moment after it has read them. Then its connection must still be there.
 */
const int32 = (n: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(n);
  return bytes;
};
/** No stage allows this message. */
const WRONG = message('G', Buffer.from([0, 0, 0]));
/** OpenSSL cuts what is sent into records of so many bytes. The client gets each record as a chunk of its own. */
const RECORD = 16_384;
const notice = (length: number): Buffer => message('N', 'M', Buffer.alloc(length - 8, 0x61), Buffer.alloc(2));
/** Fills a record up with a notice, so that each message ends a record of its own. */
const records = (list: readonly Buffer[]): Buffer[] =>
  list.flatMap((one, i) => (i === list.length - 1 ? [one] : [notice(RECORD - one.length), one]));
/**
 * A notice of 131,000 fields is 4 to 20 ms of work. After 10 ms of work the gateway rests, and then reads in one turn all
 * records that came meanwhile. How many these are depends on where the work ends, so the cases move it.
 */
const WORK = message('N', Buffer.concat(Array.from({ length: 131_000 }, () => Buffer.from('M\0'))), Buffer.alloc(1));
const TIRED = [1, 2, 3, 4].flatMap((work) => [0, 1, 2, 3].map((moved) => ({ work, moved })));
function tired({ work, moved }: { work: number; moved: number }): Buffer[] {
  const notices = Array.from({ length: work }, () => WORK);
  const rest = RECORD - ((work * WORK.length) % RECORD);
  return [...notices, notice(rest), ...Array.from({ length: moved }, () => notice(RECORD))];
}

const signature = message('R', int32(12), `v=${'A'.repeat(43)}=`);
const STAGES: Readonly<Record<string, readonly [Case['stage'], Case['auth'], Asked['way'], Buffer?]>> = {
  md5: ['auth', 'md5', 'query'],
  password: ['auth', 'password', 'query'],
  sasl: ['auth', 'scram', 'query'],
  first: ['first', 'scram', 'query'],
  // The wire allows it, and the driver ends the connection, because it has not yet computed what it expects.
  signature: ['first', 'scram', 'query', signature],
  final: ['final', 'scram', 'query'],
  settings: ['settings', 'trust', 'query'],
  row: ['row', 'trust', 'query'],
  rows: ['rows', 'trust', 'query'],
  simple: ['simple', 'trust', 'script'],
  idle: ['idle', 'trust', 'listen'],
};
const REFUSED = /came at the wrong time|out of order|SASL_SIGNATURE_MISMATCH/;
const PLACES = ['first', 'middle', 'last'] as const;
/** Only here does the driver answer a moment after it has read. */
const SLOW = ['md5', 'password', 'sasl', 'first', 'signature'];
const NAMES = [
  ...Object.keys(STAGES).flatMap((stage) => PLACES.map((place) => `${stage}_${place}`)),
  ...SLOW.flatMap((stage) => TIRED.map((_, i) => `${stage}_last_${i}`)),
];

function caseOf(name: string): Case {
  const [of = '', place = '', after = ''] = name.split('_');
  const [stage, auth, , wrong = WRONG] = STAGES[of] ?? expect.fail(name);
  const before = TIRED[Number(after || '-1')];
  return {
    stage,
    auth,
    change: (honest) => {
      const list = honest.length > 0 ? honest : [message('A', int32(1), 'channel\0x\0')];
      const at = place === 'first' ? 0 : place === 'last' ? list.length : Math.ceil(list.length / 2);
      const behind = list.slice(place === 'middle' ? at - 1 : at);
      const sent = records([...list.slice(0, at), wrong, ...behind]);
      return { bytes: Buffer.concat([...(before ? tired(before) : []), ...sent]) };
    },
  };
}

describe.each([
  ['over TLS', { key: KEY, cert: CERTIFICATE }, '?sslmode=require'],
  ['without TLS', undefined, ''],
])('%s', (_, tls, query) => {
  let server: HostileServer;
  beforeAll(async () => {
    server = await hostileServer((name) => (name === 'ssl' ? caseOf('idle_first') : caseOf(name)), tls);
  });
  afterAll(() => server.close());

  test('a wrong message before, between or behind good ones of the same turn ends its connection only', async () => {
    const cases = NAMES.map((name) => ({ name, way: STAGES[name.split('_')[0] ?? '']?.[2] ?? 'query', query }));
    const told = (await askHostile(server.port, cases, { patience: 2_000, together: 1 })) ?? expect.fail('no end');
    expect(told.found.length).toBe(113);
    wellBehaved(told);
    const refused = told.found.filter(({ said }) => REFUSED.test(said));
    // Over TLS, an answer can be complete before the message behind it is read. A listener connects again and says nothing.
    const others = told.found
      .filter((one) => !refused.includes(one))
      .map(({ name, said }) => [name.split('_')[0], said]);
    expect(refused.length).toBeGreaterThanOrEqual(104);
    expect(others.filter(([stage = '', said]) => said !== '' || !['rows', 'simple', 'idle'].includes(stage))).toEqual(
      [],
    );
    for (const name of NAMES.filter((one) => one.startsWith('idle')))
      expect(server.connections(name), name).toBeGreaterThan(0);
  });
});
