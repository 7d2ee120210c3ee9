import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, newSecret } from '../../src/auth/tokens.ts';
import { SCOPES } from '../../src/core/scopes.ts';
import type { Issued } from '../support/credentials.ts';
import { CONTACT, newMessage, openWorld, probe, until, type World } from '../support/tasks.ts';

/** A2-08 and F-13: the gateway checks the present authority when it publishes a task and when a caller reads a task. */
let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  expect(world.errors).toEqual([]);
  await world.close();
});

type Change = [name: string, sql: string, failure: string];
const OF = 'WHERE id = $1';
const TOKEN = 'WHERE credential_id = $1';
const CHANGES: Change[] = [
  ['credential revoked', `UPDATE gateway.credential SET revoked_at = now() ${OF}`, 'token_revoked'],
  ['token revoked', `UPDATE gateway.token SET revoked_at = now() ${TOKEN}`, 'token_revoked'],
  ['token deleted', `DELETE FROM gateway.token ${TOKEN}`, 'token_revoked'],
  ['credential deleted', `DELETE FROM gateway.credential ${OF}`, 'token_revoked'],
  ['credential expired', `UPDATE gateway.credential SET expires_at = now() ${OF}`, 'token_expired'],
  ['token expired', `UPDATE gateway.token SET expires_at = now() ${TOKEN}`, 'token_expired'],
  [
    'a scope less',
    `UPDATE gateway.credential SET scopes = array_remove(scopes, 'contact_read_pii') ${OF}`,
    'authority_changed',
  ],
  [
    'a flag less',
    `UPDATE gateway.credential SET data_access = array_remove(data_access, 'pii') ${OF}`,
    'authority_changed',
  ],
  ['a website less', `UPDATE gateway.credential SET sites = array_remove(sites, 1) ${OF}`, 'authority_changed'],
  ['a restriction', `UPDATE gateway.credential SET team_ids = '{tem_1_1_1}' ${OF}`, 'authority_changed'],
];

describe('A2-08 in the midst of a task', () => {
  it.each(CHANGES)('%s: nothing is published', async (_, change, failure) => {
    const sender = await world.issue();
    let read = false;
    const { skill, release } = probe();
    const late = {
      ...skill,
      run: async (context: Parameters<typeof skill.run>[0]) => {
        const body = await context.call('contact_get', { contact_id: CONTACT });
        read = true;
        await skill.run({ ...context, call: async () => body });
        return body;
      },
    };
    const waiting = world.send(world.a, sender.token, { skill: late });
    await until(() => read);
    await world.database.sql.unsafe(change, [sender.credential]);
    release();
    // A sender without a valid token gets a 401 and learns nothing about the task.
    const changed = failure === 'authority_changed';
    if (changed) expect(await waiting).toMatchObject({ state: 'failed', failure, artifact: undefined });
    else await expect(waiting).rejects.toMatchObject({ status: 401 });
    const [{ id } = { id: '' }] = await world.database.sql<{ id: string }[]>`SELECT id FROM gateway.task
      WHERE installation_id = ${sender.installation}`;
    expect(await world.row(id)).toMatchObject({ state: 'failed', failure, artifact: null });
    const reading = world.get(world.b, sender.token, id);
    if (changed) expect((await reading)?.artifact).toBeUndefined();
    else await expect(reading).rejects.toMatchObject({ status: 401 });
  });

  it('a revocation under way is waited for', async () => {
    const sender = await world.issue();
    const { skill, release, held } = probe();
    const waiting = world.send(world.a, sender.token, { skill });
    // The answer can come before the commit has returned here.
    const refused = expect(waiting).rejects.toMatchObject({ code: 'token_revoked' });
    await until(() => held() === 1);
    await world.database.sql.begin(async (transaction) => {
      await transaction`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${sender.credential}`;
      // A revocation that is not committed yet does not refuse the read.
      release();
      await pause(300);
      expect(await world.count('completed', sender.installation)).toBe(0);
    });
    await refused;
    expect(await world.count('completed', sender.installation)).toBe(0);
    expect(await world.count('failed', sender.installation)).toBe(1);
  });

  it('a task waits for its place under an authority that ends: it fails', async () => {
    const sender = await world.issue();
    const slow = probe();
    await world.fill(slow, sender, 5, [world.a]);
    const sixth = await world.send(world.a, sender.token, { wait: false });
    await world.database.sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${sender.credential}`;
    slow.release();
    await until(async () => (await world.row(sixth.id))?.state === 'failed');
    expect(await world.row(sixth.id)).toMatchObject({ failure: 'token_revoked' });
  });

  it('F-13 at a random point of 60 tasks: none is published after the commit of the change', async () => {
    const seen = { completed: 0, failed: 0, later: 0 };
    // The usual duration of a task on this machine in milliseconds. The test changes the authority while a task runs.
    let usual = 8;
    // Enough tasks must complete, and enough tasks must fail. If one outcome is too rare, run more rounds.
    for (let round = 0; round < 60 || (Math.min(seen.completed, seen.failed) <= 5 && round < 400); round++) {
      const [, change = ''] = CHANGES[round % CHANGES.length] ?? [];
      const sender = await world.issue();
      const began = performance.now();
      const waiting = world.send(world.a, sender.token).catch(({ status }: { status: number }) => {
        expect(status).toBe(401);
        return undefined;
      });
      await pause(usual * (0.2 + (round % 16) / 16));
      // The update returns its time while it still locks the row. A result that is published after this time is a
      // defect.
      const [{ at } = { at: new Date(0) }] = await world.database.sql.unsafe<{ at: Date }[]>(
        `${change} RETURNING clock_timestamp() AS at`,
        [sender.credential],
      );
      const task = await waiting;
      usual = 0.8 * usual + 0.2 * (performance.now() - began);
      const [row] = await world.database.sql`SELECT state, state_at, created_at, artifact FROM gateway.task
        WHERE installation_id = ${sender.installation}`;
      const accepted = row !== undefined && row['created_at'] <= at;
      if (row?.['state'] !== 'completed') expect(row?.['artifact'] ?? null).toBeNull();
      else if (accepted) expect(row['state_at'].getTime()).toBeLessThanOrEqual(at.getTime());
      if (accepted) seen[task?.state === 'completed' ? 'completed' : 'failed']++;
      else seen.later++;
    }
    console.info(`F-13: ${JSON.stringify(seen)}`);
    expect(seen.completed).toBeGreaterThan(5);
    expect(seen.failed).toBeGreaterThan(5);
  });
});

async function narrower(of: Issued, { scopes = [...SCOPES], sites = ['1', '2'] }): Promise<string> {
  const token = newSecret('access_test');
  await world.database.sql`INSERT INTO gateway.token (digest, credential_id, kind, audience, scopes, sites, expires_at)
    VALUES (${digestOf(token)}, ${of.credential}, 'access', 'a2a', ${scopes as string[]}, ${sites}::bigint[], now() + interval '5 minutes')`;
  return token;
}

describe('A2-08 another token that waits for the same message', () => {
  it.each([
    ['revoked', 'revoked_at = now()', 'token_revoked'],
    ['expired', 'expires_at = now()', 'token_expired'],
  ])('%s under the wait: 401 on either replica, and nothing of the result', async (_, change, code) => {
    const { sql } = world.database;
    const sender = await world.issue();
    const other = await narrower(sender, {});
    const { skill, release, held } = probe();
    const messageId = newMessage();
    const mine = world.send(world.a, sender.token, { skill, messageId });
    await until(() => held() === 1);
    const waiting = [world.a, world.b].map((replica) => world.send(replica, other, { skill, messageId }));
    await pause(200);
    await sql`UPDATE gateway.token SET ${sql.unsafe(change)} WHERE digest = ${digestOf(other)}`;
    release();
    for (const one of await Promise.allSettled(waiting)) {
      expect(one).toMatchObject({ status: 'rejected', reason: { code } });
    }
    // The sender's own token did not change, so the sender gets the result.
    expect((await mine).artifact).toMatchObject({ data: { contact: { id: CONTACT } } });
  });

  it('narrowed under the wait: the task without its artifact', async () => {
    const sender = await world.issue();
    const { skill, release, held } = probe();
    const messageId = newMessage();
    const mine = world.send(world.a, sender.token, { skill, messageId });
    await until(() => held() === 1);
    const waiting = world.send(world.b, sender.token, { skill, messageId });
    await pause(200);
    release();
    await mine;
    await world.database.sql`UPDATE gateway.credential SET data_access = array_remove(data_access, 'pii')
      WHERE id = ${sender.credential}`;
    // The waiting call can end before the authority changes. The caller then gets the artifact under the old authority.
    const { state, artifact } = await waiting;
    expect(state).toBe('completed');
    expect((await world.send(world.b, sender.token, { skill, messageId })).artifact).toBeUndefined();
    if (artifact !== undefined) expect(artifact).toMatchObject({ data: { contact: { id: CONTACT } } });
  });
});

describe('A2-02 an authority that is only remembered', () => {
  it.each(['get', 'cancel', 'list', 'send'] as const)(
    '%s of a token that is revoked: 401, and no unit',
    async (what) => {
      const sender = await world.issue({ perMinute: 1, burst: 20 });
      const twin = await world.issue({ app: sender.app });
      const replica = await world.open();
      const messageId = newMessage();
      const { id } = await world.send(replica, sender.token, { messageId });
      const left = async (): Promise<number> =>
        replica.corridor.quotaOf(await world.authority(replica, twin.token))?.remaining ?? 0;
      const before = await left();
      await world.database.sql`UPDATE gateway.token SET revoked_at = now() WHERE digest = ${digestOf(sender.token)}`;
      const asking = {
        get: () => world.get(replica, sender.token, id),
        cancel: () => world.cancel(replica, sender.token, id),
        list: () =>
          world.run(replica, sender.token, (session) => replica.tasks.list(session, { pageSize: 5, artifacts: true })),
        send: () => world.send(replica, sender.token, { messageId }),
      };
      await expect(asking[what]()).rejects.toMatchObject({ code: 'token_revoked' });
      expect(await left()).toBe(before - 1); // only the second look at the quota costs a unit
      await replica.close();
    },
  );

  it('a waiting read is three statements: accepted, read and published, each with its proof', async () => {
    const sender = await world.issue();
    await world.send(world.a, sender.token);
    const statements = (): number => world.a.sent(/accept_task|end_task|platform\.contact|gateway\.token/);
    const before = statements();
    await world.send(world.a, sender.token);
    expect(statements() - before).toBe(3);
  });
});

describe('A2-02 A2-08 who reads an artifact', () => {
  it('one who holds what its sender held', async () => {
    const sender = await world.issue();
    const messageId = newMessage();
    const { id, artifact } = await world.send(world.a, sender.token, { messageId });
    expect(artifact).toMatchObject({ data: { contact: { id: CONTACT } } });
    const readAs = async (token: string): Promise<unknown[]> => {
      const query = { pageSize: 50, artifacts: true };
      const page = await world.run(world.b, token, (session) => world.b.tasks.list(session, query));
      const again = await world.send(world.b, token, { messageId });
      expect(again).toMatchObject({ id, state: 'completed' });
      return [
        (await world.get(world.b, token, id))?.artifact,
        page.tasks.find((task) => task.id === id)?.artifact,
        again.artifact,
        (await world.cancel(world.b, token, id))?.task.artifact,
      ];
    };
    const all = [artifact, artifact, artifact, artifact];
    const none = [undefined, undefined, undefined, undefined];
    expect(await readAs(sender.token)).toEqual(all);
    expect(await readAs(await narrower(sender, {}))).toEqual(all);
    const noPii = SCOPES.filter((scope) => scope !== 'contact_read_pii');
    expect(await readAs(await narrower(sender, { scopes: noPii }))).toEqual(none);
    const elsewhere = await narrower(sender, { sites: ['2'] });
    expect(await readAs(elsewhere)).toEqual(none);
    // A reader without the website must not learn which website the task uses.
    expect((await world.get(world.a, elsewhere, id))?.websiteId).toBeNull();
    expect((await world.get(world.a, sender.token, id))?.websiteId).toBe('web_1_1');
    const { sql } = world.database;
    for (const [change, expected] of [
      [sql`data_access = array_remove(data_access, 'pii')`, none],
      [sql`data_access = data_access || '{pii}'`, all],
      [sql`team_ids = '{tem_1_1_1}'`, none],
      [sql`team_ids = NULL, callbacks = '{https://elsewhere.example/}'`, all],
    ] as const) {
      await sql`UPDATE gateway.credential SET ${change} WHERE id = ${sender.credential}`;
      expect(await readAs(sender.token)).toEqual(expected);
    }
  });

  it('nobody of another credential, of the same installation either', async () => {
    const sender = await world.issue();
    const { sql } = world.database;
    const { id } = await world.send(world.a, sender.token);
    const other = await world.issue({ app: sender.app });
    await sql`UPDATE gateway.credential SET installation_id = ${sender.installation} WHERE id = ${other.credential}`;
    expect(await world.get(world.a, other.token, id)).toBeUndefined();
    expect(await world.cancel(world.a, other.token, id)).toBeUndefined();
    const page = await world.run(world.a, other.token, (session) =>
      world.a.tasks.list(session, { pageSize: 50, artifacts: true }),
    );
    expect(page).toEqual({ tasks: [], nextPageToken: '', totalSize: 0 });
    expect(await world.row(id)).toMatchObject({ state: 'completed' });
  });

  it.each([
    '',
    'task_',
    `task_${'0'.repeat(32)}`,
    `task_${'A'.repeat(32)}`,
    'task_\u0000',
    "'; DROP TABLE gateway.task",
    '\ud800',
  ])('no task is called %j', async (id) => {
    const sender = await world.issue();
    expect(await world.get(world.a, sender.token, id)).toBeUndefined();
    expect(await world.cancel(world.a, sender.token, id)).toBeUndefined();
  });
});
