import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { times } from '../support/form.ts';
import {
  type Asked,
  askHostile,
  type ClientOptions,
  type Told,
  wellBehaved,
} from '../support/hostile/postgres-client.ts';
import {
  type Case,
  columns,
  type HostileServer,
  hostileServer,
  message,
  mutate,
  noticeOf,
  row,
  type Sending,
  STAGES,
} from '../support/hostile/postgres-server.ts';
import { generator, pickFrom } from '../support/random.ts';

/**
 * The database server of a helpdesk belongs to somebody else. Whatever it sends, a statement ends with an answer or an
 * error in its time, nothing is uncaught, and the event loop and the memory of the process stay free.
 */
const SEED = Number(process.env['FC_SEED'] ?? 30);
const CASES = times(1_000, 20_000);

const int32 = (n: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(n);
  return bytes;
};
const scram = (change: (text: string) => string): Case['change'] => {
  return ([honest = Buffer.alloc(9)]) => ({
    bytes: message('R', int32(11), change(honest.toString('latin1', 9))),
  });
};
const instead =
  (...messages: Buffer[]): Case['change'] =>
  () => ({ bytes: Buffer.concat(messages) });
const long = (type: string, length: number): Buffer => Buffer.concat([Buffer.from(type), int32(length)]);
const endless =
  (bytes: Buffer): Case['change'] =>
  () => ({ bytes, endless: true });
const many = (one: Buffer): Buffer => Buffer.concat(Array.from({ length: 2_000 }, () => one));
const unended = Buffer.from(columns('a', 'b'));
unended.fill(0x61, 7);

type Named = readonly [stage: Case['stage'], auth: Case['auth'], change: Case['change'], said: string];
/** What a server of an attacker would send, and the words of the refusal. */
const NAMED: Readonly<Record<string, Named>> = {
  no_salt: ['first', 'scram', scram((text) => text.replace(/,s=[^,]*/, '')), 'no salt'],
  empty_salt: ['first', 'scram', scram((text) => text.replace(/,s=[^,]*/, ',s=')), 'no salt'],
  no_iterations: ['first', 'scram', scram((text) => text.replace(/,i=\d+/, '')), 'number of iterations'],
  zero_iterations: ['first', 'scram', scram((text) => text.replace('i=4096', 'i=0')), 'number of iterations'],
  few_iterations: ['first', 'scram', scram((text) => text.replace('i=4096', 'i=1')), 'has 1 iterations'],
  many_iterations: ['first', 'scram', scram((text) => text.replace('i=4096', 'i=20000000')), '20000000 iterations'],
  other_nonce: ['first', 'scram', scram((text) => text.replace(/^r=.{9}/, 'r=abcdefghi')), 'nonce'],
  same_nonce: ['first', 'scram', scram((text) => text.replace('abcdef,', ',')), 'nonce'],
  no_scram: ['auth', 'scram', instead(message('R', int32(10), 'PLAIN\0\0')), 'does not offer SCRAM-SHA-256'],
  kerberos: ['auth', 'trust', instead(message('R', int32(7))), 'kind of authentication'],
  out_of_order: ['auth', 'scram', instead(message('R', int32(12), `v=${'A'.repeat(43)}=`)), 'out of order'],
  short_authentication: ['auth', 'trust', instead(message('R', Buffer.alloc(2))), 'kind of authentication'],
  other_signature: ['final', 'scram', instead(message('R', int32(12), `v=${'A'.repeat(43)}=`)), 'SASL_SIGNATURE'],
  again: ['idle', 'trust', instead(message('R', int32(3))), 'type R came at the wrong time'],
  no_nul: ['row', 'trust', instead(message('1'), message('t', Buffer.alloc(2)), unended), 'type T is broken'],
  no_nul_simple: ['simple', 'trust', instead(unended), 'type T is broken'],
  many_columns: ['row', 'trust', instead(message('1'), message('T', Buffer.from([255, 255]))), 'type T is broken'],
  long_row: ['rows', 'trust', instead(message('2'), long('D', 0x7fffffff)), 'type D has 2147483647 bytes'],
  long_error: ['auth', 'trust', instead(long('E', 0x7fffffff)), 'type E has'],
  no_length: ['auth', 'trust', instead(long('R', 0)), 'type R has 0 bytes'],
  negative_value: ['rows', 'trust', instead(message('2'), message('D', Buffer.from([0, 1]), int32(-9))), 'negative'],
  short_row: ['rows', 'trust', instead(message('2'), message('D', Buffer.from([0, 9]), int32(-1))), 'row is broken'],
  copy: ['simple', 'trust', instead(message('G', Buffer.from([0, 0, 0]))), 'type G came at the wrong time'],
  portal: ['rows', 'trust', instead(message('2'), message('s')), 'type s came at the wrong time'],
  broken_error: ['rows', 'trust', instead(message('E', 'Mplanted')), 'type E is broken'],
  http: ['auth', 'trust', instead(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')), 'type H came at the wrong time'],
  endless_rows: ['rows', 'trust', endless(many(row('1', null))), ''],
  endless_settings: ['settings', 'trust', endless(many(message('S', 'a\0b\0'))), ''],
  endless_notices: ['auth', 'trust', endless(many(noticeOf('N', '00000'))), ''],
  endless_ready: ['rows', 'trust', endless(many(message('Z', 'I'))), ''],
  endless_notifications: ['idle', 'trust', endless(many(message('A', int32(1), 'channel\0x\0'))), ''],
};

const random = generator(SEED);
const CHANGES = new Map<string, Case>();
const drawn = (count: number): Asked[] =>
  Array.from({ length: count }, (_, i) => {
    const name = `case_${i}`;
    const stage = pickFrom(STAGES.slice(2), random);
    const auth = pickFrom(['trust', 'md5', 'password', 'scram', 'scram'] as const, random);
    CHANGES.set(name, { stage, auth, change: mutate });
    const ways =
      stage === 'simple'
        ? (['script'] as const)
        : stage === 'idle'
          ? (['listen', 'twice'] as const)
          : (['query', 'twice'] as const);
    return { name, way: pickFrom<Asked['way']>(ways, random) };
  });
const honest: Case['change'] = (messages): Sending => ({ bytes: Buffer.concat(messages) });
const HONEST = ['trust', 'md5', 'password', 'scram'] as const;

let server: HostileServer;
beforeAll(async () => {
  server = await hostileServer((name) => {
    const [stage, auth, change] = NAMED[name] ?? [];
    if (stage !== undefined && auth !== undefined && change !== undefined) return { stage, auth, change };
    const way = HONEST.find((one) => name === `honest_${one}` || name === `bytes_${one}`);
    if (way !== undefined)
      return {
        stage: 'rows',
        auth: way,
        change: name.startsWith('bytes') ? (list) => ({ ...honest(list, random), pace: 0 }) : honest,
      };
    return CHANGES.get(name) ?? { stage: 'idle', auth: 'trust', change: honest };
  });
});
afterAll(() => server.close());

const wayOf = (name: string): Asked['way'] =>
  NAMED[name]?.[0] === 'simple'
    ? 'script'
    : name === 'endless_notifications'
      ? 'listen'
      : name === 'again'
        ? 'twice'
        : 'query';
const client = (cases: readonly Asked[], options?: ClientOptions): Promise<Told | undefined> =>
  askHostile(server.port, cases, options);

describe('the database server of a helpdesk', () => {
  test('an honest server is understood, with each kind of password and byte by byte', async () => {
    const names = HONEST.flatMap((auth) => [`honest_${auth}`, `bytes_${auth}`]);
    const told =
      (await client(
        names.map((name) => ({ name, way: 'twice' })),
        { patience: 5_000 },
      )) ?? expect.fail('no end');
    expect(told.found.map(({ name, said, rows }) => [name, said, rows]).sort()).toEqual(
      names.map((name) => [name, '', 6]).sort(),
    );
    wellBehaved(told);
  });

  test('each known attack is refused with a sentence that names it', async () => {
    const all = Object.keys(NAMED);
    expect(all.length).toBeGreaterThanOrEqual(30);
    const names = all.filter((name) => !name.startsWith('endless'));
    const told =
      (await client(
        names.map((name) => ({ name, way: wayOf(name) })),
        { patience: 2_000 },
      )) ?? expect.fail('no end');
    for (const { name, said } of told.found) expect(said, name).toContain(NAMED[name]?.[3]);
    wellBehaved(told);
    // A refused server is not asked again at once.
    for (const name of names.filter((one) => wayOf(one) === 'query')) expect(server.connections(name), name).toBe(1);
    const without = all.filter((name) => name.startsWith('endless'));
    wellBehaved((await client(without.map((name) => ({ name, way: wayOf(name) })))) ?? expect.fail('no end'));
  });

  test('an endless answer ends at a bound of its bytes, long before the time of the statement', async () => {
    const told =
      (await client([{ name: 'endless_rows', way: 'query' }], { patience: 60_000, limit: 50_000 })) ??
      expect.fail('no end');
    expect(told.found[0]?.said).toContain('an answer is longer than');
    expect(told.longest).toBeLessThan(250);
    expect(told.peak).toBeLessThan(700);
  });

  test(`${CASES} random servers`, async () => {
    const told = (await client(drawn(CASES), { limit: 600_000 })) ?? expect.fail(`no end, seed ${SEED}`);
    expect(told.found.length).toBe(CASES);
    wellBehaved(told);
    const refused = told.found.filter(({ said }) => said.startsWith('ForeignServerRefused')).length;
    const answered = told.found.filter(({ said }) => said === '').length;
    expect(refused).toBeGreaterThan(CASES / 5);
    expect(answered).toBeGreaterThan(CASES / 20);
    console.info(
      `PostgreSQL of others: ${CASES} servers, ${refused} refused, ${answered} answered, event loop ${told.longest.toFixed(0)} ms of work (${told.wall.toFixed(0)} ms by the clock), memory ${told.peak.toFixed(0)} MiB`,
    );
  }, 620_000);

  test.each(['no_salt', 'zero_iterations', 'no_nul'])('without the check, %s is found', async (name) => {
    const told = await client([{ name, way: 'query' }], { planted: true, limit: 10_000 });
    // `no_nul` never ends.
    if (name === 'no_nul') expect(told).toBeUndefined();
    else expect(told?.uncaught.join()).toContain('unhandledRejection');
  });
});
