import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newSecret } from '../../src/auth/tokens.ts';
import type { Answer } from '../support/answer.ts';
import { forged, type SignedInPerson, signedInAs } from '../support/console/console.ts';
import { type Managed, openManaged } from '../support/console/managed.ts';
import { eventually } from '../support/eventually.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { doorFrom, formOf, newClient, pkce, post, request, SAME } from '../support/oauth/oauth.ts';

/**
 * One person, or one network, opens many pages whose statements do not end. They hold at most half of the connections.
 * The calls of apps have the rest.
 */
const NETWORK = '127.0.0.9';
const AT_ONCE = 8;

let gateway: TestGateway;
let world: Awaited<ReturnType<typeof openManaged>>;
let managed: Managed;
let owner: SignedInPerson;
let token: string;
let query: string;
beforeAll(async () => {
  gateway = await openTestGateway();
  world = await openManaged(gateway);
  managed = await world.plant();
  owner = await signedInAs(gateway);
  ({ token } = await gateway.issue({ scopes: ['website_read'] }));
  query = formOf(request(await newClient(gateway), pkce()));
  // Refused before a password is checked, because a check costs a second of a core.
  await gateway.database.sql`INSERT INTO gateway.sign_in_failure (source, account, at)
    SELECT ${NETWORK}, sha256(n::text::bytea), now() FROM generate_series(1, 20) AS n`;
});
afterAll(async () => {
  await world.close();
  await gateway.close();
});

const look = (path: string, cookie = owner.cookie): Promise<Answer> =>
  doorFrom(gateway.port, NETWORK).ask(path, { headers: { cookie } });
const send = (path: string, fields: Record<string, string>, cookie = owner.cookie): Promise<Answer> =>
  post(doorFrom(gateway.port, NETWORK), path, fields, { ...SAME, cookie });
/** A session that the gateway has never made. Its checksum is right, so the store is asked for it. */
const madeUp = (): string => `igw_session=${newSecret('session')}`;

/** Sends a form to a page of the webhook. */
const replay = (): Promise<Answer> => {
  const action = `/console/webhooks/${managed.webhook}/replay`;
  return send(action, { csrf: forged(owner, action), since: '7d' });
};
const table = (name: string) => (): string => `LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`;
const row = (): string => `SELECT FROM gateway.webhook_endpoint WHERE id = '${managed.webhook}' FOR UPDATE`;

it.each([
  ['an owner who sends a webhook again', row, replay, 303],
  ['an owner who searches the audit', table('gateway.audit'), () => look('/console/audit?outcome=zqx7'), 200],
  [
    'an owner who asks who has read a record',
    table('gateway.audit_target'),
    () => look('/console/audit?target=ctc_1_1_89'),
    200,
  ],
  ['an owner who looks at the overview', table('gateway.audit_app_hour'), () => look('/console'), 200],
  ['an owner who looks at usage', table('gateway.audit_app_day'), () => look('/console/usage?period=week'), 200],
  [
    'an owner who looks at a source',
    table('platform.saved_response'),
    () => look(`/console/sources/${managed.source}`),
    200,
  ],
  ['a stranger at the consent page', table('gateway.session'), () => look(`/oauth/authorize?${query}`, madeUp()), 200],
  [
    'a stranger who signs in',
    table('gateway.sign_in_failure'),
    () => send(`/oauth/sign-in?${query}`, { email: 'zqx7@example.com', password: 'x' }, madeUp()),
    429,
  ],
  [
    'a stranger who chooses an organization',
    table('gateway.session'),
    () => send('/console/sign-in', { choose: 'x' }, madeUp()),
    403,
  ],
  ['a stranger who signs out', table('gateway.session'), () => send('/console/sign-out', {}, madeUp()), 303],
] as [string, () => string, () => Promise<Answer>, number][])(
  '%s leaves connections to others',
  async (_, held, ask, status) => {
    const { sql, name } = gateway.database;
    let asked: Promise<Answer>[] = [];
    let done = 0;
    await sql.begin(async (holding) => {
      await holding.unsafe(held());
      asked = Array.from({ length: AT_ONCE }, () => ask().finally(() => done++));
      // Reads that come together can share one statement.
      await eventually(async () =>
        expect(
          await sql`SELECT FROM pg_stat_activity WHERE datname = ${name} AND wait_event_type = 'Lock'`,
        ).not.toHaveLength(0),
      );
      await pause(200);
      const answer = await gateway.ask('/api/v1/websites', { token });
      expect([answer.status, done]).toEqual([200, 0]);
    });
    expect((await Promise.all(asked)).map((answer) => answer.status)).toEqual(Array(AT_ONCE).fill(status));
  },
);
