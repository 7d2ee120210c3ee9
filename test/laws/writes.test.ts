import { afterAll, it as always, beforeAll, beforeEach, describe, expect } from 'vitest';
import { rotateCredential } from '../../src/auth/issue.ts';
import { newSecret } from '../../src/auth/tokens.ts';
import {
  ALL_FLAGS,
  ALL_SCOPES,
  DIMENSIONS,
  FULL,
  type Grants,
  LACKING,
  limitsOf,
  type Restricted,
} from '../support/authority/grants.ts';
import {
  expectMembers,
  inOrder,
  NOT_FOUND,
  pathOf,
  type Refusal,
  refusalOf,
  valuesAt,
  WRITES,
  type Write,
} from '../support/authority/operations.ts';
import { CANARY, World, webId } from '../support/authority/world.ts';
import { addDispositions, callOver, type Said, SURFACES, type Surface, tracesOf } from '../support/authority/writes.ts';
import type { Grant, Issued } from '../support/credentials.ts';
import { itOnce as it, itInFull, times } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';

/**
 * Checks TN-01, TN-02 and TN-07 of the writes over REST and MCP. A refused write leaves no trace, and its idempotency
 * key stays unused.
 */
let gateway: TestGateway;
let world: World;
let cells = 0;
let keys = 0;
const WEB = webId(1, 1);
const AUTHORS = ['opr_1_1_1', 'opr_1_2_1'];
const UNENROLLED: Refusal = { status: 503, code: 'enrollment_unavailable' };

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  world = await new World(gateway.database.sql).whole();
  await addDispositions(gateway.database.sql);
});
afterAll(async () => {
  console.info(`TN-01/TN-07 of writes: ${cells} cells`);
  await gateway.close();
});

interface Holder extends Issued {
  readonly grants: Grants;
  readonly restricted?: Restricted | undefined;
}

async function hold(grants: Grants, restricted?: Restricted, more: Grant = {}): Promise<Holder> {
  const grant = { scopes: grants.scopes, dataAccess: grants.flags, authors: AUTHORS, ...limitsOf(restricted), ...more };
  return { ...(await gateway.issue(grant)), grants, restricted };
}

interface Cell {
  readonly write: Write;
  readonly surface: Surface;
  readonly holder: Pick<Holder, 'token' | 'credential'>;
  readonly website?: string;
  readonly number?: number;
  readonly where: string;
}
const call = ({ write, surface, holder, website = WEB, number = 1 }: Cell, key = `cell-${++keys}`): Promise<Said> =>
  callOver[surface](gateway, { write, website, number, token: holder.token, key });

const traces = (): Promise<string> => tracesOf(gateway.database.sql);

async function denied(cell: Cell, refusal: Refusal): Promise<{ key: string; said: Said }> {
  const key = `cell-${++keys}`;
  const before = await traces();
  const said = await call(cell, key);
  const { status, code, required, operation } = said;
  expect([status, code, inOrder(required)], `${cell.where} ${said.text}`).toEqual([
    refusal.status,
    refusal.code,
    inOrder(refusal.required),
  ]);
  expect(operation, cell.where).toBeUndefined();
  expect(said.text.match(CANARY), cell.where).toBeNull();
  expect(await traces(), cell.where).toBe(before);
  cells++;
  return { key, said };
}

const COUNTS = /^(\d+) notes, (\d+) receipts, (\d+) operations/;
const countsOf = (text: string): number[] => (COUNTS.exec(text) ?? []).slice(1).map(Number);

async function done(cell: Cell, grants: Grants, key?: string): Promise<void> {
  const { write, where } = cell;
  const [notes = 0, receipts = 0, operations = 0] = countsOf(await traces());
  const said = await call(cell, key);
  expect([said.status, said.text], where).toEqual([200, expect.any(String)]);
  expect(said.operation, where).toMatch(/^op_[a-f0-9]{64}$/);
  expectMembers(write, said.body, grants, undefined, where);
  expect(countsOf(await traces()), where).toEqual([
    notes + write.notes,
    receipts + write.receipts.length,
    operations + 1,
  ]);
  cells++;
}

/** Clears the disposition of every conversation, so that the next write of a disposition is a change. */
beforeEach(async () => {
  await gateway.database.sql`UPDATE platform.conversation SET disposition = NULL`;
});

const each = (): [Write, Surface][] => WRITES.flatMap((write) => SURFACES.map((one): [Write, Surface] => [write, one]));

describe('TN-01 every write, by what a credential holds', () => {
  always('TN-01 every missing scope and flag is refused by name and leaves the key free', async () => {
    const variants: [string, Grants][] = [
      ['with everything', FULL],
      ['with nothing', { scopes: [], flags: [] }],
      ['with scopes only', { scopes: ALL_SCOPES, flags: [] }],
      ['with flags only', { scopes: [], flags: ALL_FLAGS }],
      ...LACKING.filter((_, i) => i % times(1, 1, 4) === 0),
    ];
    const { sql } = gateway.database;
    for (const [name, grants] of variants) {
      const holder = await hold(grants);
      const spare: [Cell, string][] = [];
      for (const [write, surface] of each()) {
        const cell = { write, surface, holder, where: `${write.tool} over ${surface} ${name}` };
        const refusal = refusalOf(write, grants, undefined);
        if (refusal) spare.push([cell, (await denied(cell, refusal)).key]);
        else await done(cell, grants);
      }
      await sql`UPDATE gateway.credential SET scopes = ${[...ALL_SCOPES]}, data_access = ${[...ALL_FLAGS]}
        WHERE id = ${holder.credential}`;
      for (const [cell, key] of spare) await done({ ...cell, where: `${cell.where}, granted again` }, FULL, key);
    }
  });

  it('TN-02 the bare necessities are enough, and no proper subset of them is', async () => {
    const { sql } = gateway.database;
    const holder = await hold(FULL);
    for (const write of WRITES) {
      const needs = [...write.scopes, ...write.flags];
      for (let bits = 2 ** needs.length - 1; bits >= 0; bits--) {
        const held = needs.filter((_, i) => (bits >> i) % 2 === 1);
        const grants = {
          scopes: ALL_SCOPES.filter((scope) => held.includes(scope)),
          flags: ALL_FLAGS.filter((flag) => held.includes(flag)),
        };
        await sql`UPDATE gateway.credential SET scopes = ${grants.scopes}, data_access = ${grants.flags}
          WHERE id = ${holder.credential}`;
        const surface = SURFACES[bits % 2] ?? 'rest';
        const cell = { write, surface, holder, where: `${write.tool} with ${held} over ${surface}` };
        const refusal = refusalOf(write, grants, undefined);
        expect(refusal === undefined, cell.where).toBe(held.length === needs.length);
        if (refusal) await denied(cell, refusal);
        else await done(cell, grants);
      }
    }
  });

  it('TN-01 restrictions: three writes are refused, dispositions reach what is seen; the rest is as absent', async () => {
    for (const dimension of DIMENSIONS) {
      for (const ids of [[1], [2, 1], [2], [9], []]) {
        const restricted = { dimension, ids };
        const holder = await hold(FULL, restricted);
        const where = (name: string) => `${name} restricted to ${dimension} ${ids}`;
        const absent = new Set<string>();
        for (const [write, surface] of each()) {
          const cell = { write, surface, holder, where: where(`${write.tool} over ${surface}`) };
          if (!write.ofConversation) {
            await denied(cell, refusalOf(write, FULL, restricted) ?? expect.fail(cell.where));
            continue;
          }
          // A place is a channel, team or subsite. Conversations 1 and 3 lie in place 1, conversation 2 in place 2, and
          // conversation 5 in no place. Conversation 77 does not exist.
          const places: readonly [number, number][] = [
            [1, 1],
            [3, 1],
            [2, 2],
            [5, 0],
            [77, -1],
          ];
          for (const [number, place] of places) {
            if (ids.includes(place)) await done({ ...cell, number }, FULL);
            else absent.add((await denied({ ...cell, number }, NOT_FOUND)).said.text);
          }
        }
        // REST and MCP each use one text for all these refusals. The text does not reveal whether the record exists.
        expect(absent.size, where('')).toBe(2);
      }
    }
  });

  it('TN-01 a website that is not granted, foreign or not there, and a record that is not there: one refusal', async () => {
    const holder = await hold(FULL, undefined, { websites: [WEB], authors: ['opr_1_1_1'] });
    const both = await hold(FULL);
    for (const [write, surface] of each()) {
      const said = new Set<string>();
      for (const website of [webId(1, 2), webId(2, 1), webId(1, 9), webId(9, 1), `web_1_${'9'.repeat(19)}`]) {
        const cell = { write, surface, holder, website, where: `${write.tool} over ${surface} of ${website}` };
        said.add((await denied(cell, NOT_FOUND)).said.text);
      }
      const where = `${write.tool} over ${surface}`;
      if (write.subject) said.add((await denied({ write, surface, holder, number: 77, where }, NOT_FOUND)).said.text);
      const elsewhere = { ...write, body: () => ({ ...write.body(webId(1, 2)) }) };
      // The body names one website, but the item in the body belongs to another website. The caller holds both
      // websites.
      if (!write.subject)
        said.add((await denied({ write: elsewhere, surface, holder: both, where }, NOT_FOUND)).said.text);
      expect(said.size, where).toBe(1);
      if (!write.subject) continue;
      const naming = (website: string) => ({ ...write, path: `${write.path}?website_id=${website}` });
      await done({ write: naming(WEB), surface, holder: both, where: `${where} with its website` }, FULL);
      for (const other of [webId(1, 2), webId(2, 1)])
        await denied({ write: naming(other), surface, holder: both, where: `${where} with ${other}` }, NOT_FOUND);
    }
  });
});

describe('TN-01 every write, by the state of its credential', () => {
  const past = async (table: 'token' | 'credential', column: string): Promise<Issued> => {
    const { sql } = gateway.database;
    const issued = await gateway.issue({ authors: AUTHORS });
    await sql`UPDATE gateway.${sql(table)} SET ${sql(column)} = now() - interval '1 second'
      WHERE ${sql(table === 'token' ? 'credential_id' : 'id')} = ${issued.credential}`;
    return issued;
  };
  const rotated = async (overlap: number): Promise<Issued> => {
    const issued = await gateway.issue({ authors: AUTHORS });
    expect(await rotateCredential(gateway.database.db, issued.credential, overlap)).toBeDefined();
    return issued;
  };
  const bearer = async (token: string): Promise<Issued> => ({ ...(await gateway.issue()), token });
  const states: [name: string, code: string | undefined, make: () => Promise<Issued>][] = [
    ['malformed', 'unauthenticated', () => bearer('nonsense')],
    ['unknown', 'unauthenticated', () => bearer(newSecret('installation_test'))],
    ['a secret', 'unauthenticated', () => bearer(newSecret('secret'))],
    ['expired', 'token_expired', () => gateway.issue({ authors: AUTHORS, expires: '-1 second' })],
    ['an expired token', 'token_expired', () => past('token', 'expires_at')],
    ['revoked', 'token_revoked', () => past('credential', 'revoked_at')],
    ['a revoked token', 'token_revoked', () => past('token', 'revoked_at')],
    ['rotated away', 'token_revoked', () => rotated(0)],
    ['rotated, in the overlap', undefined, () => rotated(600)],
  ];

  it.each(states)('TN-01 %s', async (name, code, make) => {
    const holder = await make();
    for (const [write, surface] of each()) {
      const cell = { write, surface, holder, where: `${write.tool} over ${surface}, ${name}` };
      if (code === undefined) await done(cell, FULL);
      else await denied(cell, { status: 401, code });
    }
  });

  it('TN-01 no token at all', async () => {
    for (const write of WRITES) {
      const before = await traces();
      const sent = { body: write.body(WEB), headers: { 'idempotency-key': `none-${++keys}` } };
      const { status, body } = await gateway.ask(pathOf(write, WEB), sent);
      expect([status, body.code, await traces()]).toEqual([401, 'unauthenticated', before]);
      cells++;
    }
  });
});

describe('TN-07 the mapped author', () => {
  const WITH = WRITES.filter(({ author }) => author);
  const setEnabled = (enabled: boolean) =>
    gateway.database.sql`UPDATE platform.operator SET enabled = ${enabled} WHERE tenant = 1 AND site = 1 AND id = 2`;
  const cases: [name: string, authors: readonly string[]][] = [
    ['no mapping', []],
    ['a disabled operator', ['opr_1_1_3']],
    ['an operator of another website of the organization', ['opr_1_2_1']],
    ['an operator of another organization', ['opr_2_1_1']],
    ['operators everywhere else', ['opr_1_2_1', 'opr_2_1_1', 'opr_2_2_1']],
  ];

  it.each(cases)(
    'TN-07 %s: 503, nothing written, the key free for the day that there is one',
    async (name, authors) => {
      await hold(FULL);
      const holder = await hold(FULL, undefined, { authors });
      const spare: [Cell, string][] = [];
      for (const [write, surface] of each()) {
        const cell = { write, surface, holder, where: `${write.tool} over ${surface}, ${name}` };
        if (write.author) spare.push([cell, (await denied(cell, UNENROLLED)).key]);
        else await done(cell, FULL);
      }
      await gateway.database.sql`INSERT INTO gateway.native_author (credential_id, tenant, site, operator_id)
      VALUES (${holder.credential}, 1, 1, 2) ON CONFLICT (credential_id, tenant, site) DO UPDATE SET operator_id = 2`;
      for (const [cell, key] of spare) await done({ ...cell, where: `${cell.where}, then mapped` }, FULL, key);
    },
  );

  it('TN-07 an operator who is disabled, enabled again, unmapped or removed, from one request to the next', async () => {
    const { sql } = gateway.database;
    const holder = await hold(FULL, undefined, { authors: ['opr_1_1_2'] });
    for (const surface of SURFACES) {
      for (const write of WITH) {
        const cell = { write, surface, holder, where: `${write.tool} over ${surface}` };
        await done(cell, FULL);
        await setEnabled(false);
        const { key, said } = await denied(cell, UNENROLLED);
        // Waiting does not help a caller without an author, so the answer has no Retry-After.
        expect(said.retryAfter, cell.where).toBeUndefined();
        await setEnabled(true);
        await done(cell, FULL, key);
      }
    }
    await sql`DELETE FROM gateway.native_author WHERE credential_id = ${holder.credential}`;
    for (const write of WITH)
      await denied({ write, surface: 'rest', holder, where: `${write.tool} unmapped` }, UNENROLLED);
  });

  it('TN-07 the note carries the mapped operator, whatever the text says', async () => {
    const { sql } = gateway.database;
    for (const operator of [1, 2]) {
      const holder = await hold(FULL, undefined, { authors: [`opr_1_1_${operator}`, 'opr_1_2_1'] });
      const write = WRITES.find(({ notes }) => notes > 0) ?? expect.fail('no note');
      const said = await call({ write, surface: 'rest', holder, where: '' });
      const [row] = await sql<{ name: string; operator_id: string; text: string }[]>`
        SELECT o.name, n.operator_id, n.text FROM platform.note n JOIN platform.operator o
            ON o.tenant = n.tenant AND o.site = n.site AND o.id = n.operator_id
         WHERE n.tenant = 1 AND n.site = 1 ORDER BY n.id DESC LIMIT 1`;
      expect(row).toEqual({
        name: valuesAt(said.body, 'data.note.author')[0],
        operator_id: String(operator),
        ...write.body(WEB),
      });
    }
  });
});

describe('what a write shows', () => {
  it('a note needs a stored conversation, or the visitor is as absent as one that never was', async () => {
    const write = WRITES.find(({ notes }) => notes > 0) ?? expect.fail('no note');
    const { sql } = gateway.database;
    const [with3] = await sql`SELECT 1 FROM platform.visitor WHERE tenant = 1 AND site = 1 AND id = 3`;
    expect(with3).toBeDefined();
    for (const holder of [await hold(FULL), await hold(FULL, undefined, { authors: [] })]) {
      for (const surface of SURFACES) {
        const said = new Set<string>();
        for (const number of [3, 77])
          said.add((await denied({ write, surface, holder, number, where: `visitor ${number}` }, NOT_FOUND)).said.text);
        expect(said.size).toBe(1);
      }
    }
  });

  it('TN-03 of stored text only the author’s name and what would change, and nothing of it in the log', async () => {
    const holder = await hold(FULL);
    const shown: Readonly<Record<string, string>> = {
      visitor_note_add: 'operator 1 name',
      config_plan: 'ai_feature 1 name',
    };
    for (const [write, surface] of each()) {
      const said = await call({ write, surface, holder, where: '' });
      const named = [...new Set(said.text.match(CANARY) ?? [])].map((text) => {
        const one = world.canaries.find((canary) => canary.text === text);
        return `${one?.tenant}/${one?.site} ${one?.table} ${one?.row} ${one?.column}`;
      });
      const expected = shown[write.tool];
      expect(named, `${write.tool} over ${surface}`).toEqual(expected === undefined ? [] : [`1/1 ${expected}`]);
    }
    expect(gateway.log.length).toBeGreaterThan(500);
    expect(gateway.log.join('\n').match(CANARY)).toBeNull();
  });

  itInFull('TN-04 no answer depends on what lies outside the authority', async () => {
    const other = await openTestGateway('empty');
    const { sql } = other.database;
    const small = new World(sql);
    await small.organization(1);
    await small.base(1, 1);
    await addDispositions(sql);
    const { token } = await other.issue({ authors: ['opr_1_1_1'], channels: [], teams: [] });
    const { token: whole } = await other.issue({ websites: [WEB], authors: ['opr_1_1_1'] });
    /** Two callers send the same writes under the same idempotency keys. Some of the records do not exist. */
    const transcript = async (round: number): Promise<string[]> => {
      const said: string[] = [];
      for (const bearer of [token, whole]) {
        for (const [write, surface] of each()) {
          for (const website of [WEB, webId(1, 2), webId(2, 1)]) {
            for (const number of [1, 2, 3, 5, 77]) {
              const key = `${round}-${write.tool}-${surface}-${website}-${number}`;
              const { status, text } = await callOver[surface](other, { write, website, number, token: bearer, key });
              said.push(`${write.tool} ${surface} ${website} ${number} ${status} ${text}`);
            }
          }
        }
      }
      return said;
    };
    const before = await transcript(1);
    await small.base(1, 2);
    await small.organization(2);
    for (const site of [1, 2]) await small.base(2, site);
    for (const site of [1, 2]) await small.away(2, site);
    await small.away(1, 2);
    await addDispositions(sql);
    const stranger = await other.issue({ authors: ['opr_2_1_1'] }, 2);
    for (const [write, surface] of each()) {
      for (const number of [1, 2, 3, 5, 77]) {
        for (const website of [WEB, webId(1, 2), webId(2, 1)])
          await callOver[surface](other, {
            write,
            website,
            number,
            token: stranger.token,
            key: `2-${write.tool}-${surface}-${website}-${number}`,
          });
      }
    }
    // Restore the state from before the first round. Otherwise, a new note would get another number.
    await sql`DELETE FROM platform.note WHERE tenant = 1 AND site = 1 AND id > 100`;
    await sql`UPDATE platform.native_id SET last = 100 WHERE tenant = 1 AND site = 1 AND kind = 'note'`;
    // Mask the times of creation. Also mask the operation ids, because they depend on the key.
    const masked = (text: string): string =>
      text.replace(/op_[a-f0-9]{64}/g, 'op').replace(/((?:created|updated)_at\\*":\\*")[^"\\]*/g, '$1');
    expect((await transcript(2)).map(masked)).toEqual(before.map(masked));
    expect(before.filter((text) => / 200 /.test(text)).length).toBeGreaterThan(8);
    cells += before.length * 2;
    await other.close();
  });
});
