import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Ending, RemoteWriter } from '../../../src/core/writes.ts';
import { type Decision, decide } from '../../../src/gateway/approvals.ts';
import { upkeep } from '../../../src/gateway/upkeep.ts';
import { erase } from '../../../src/privacy/erase.ts';
import type { Issued } from '../../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';
import { asked, asker, freshKey, send, statusOf, visitorOf } from '../../support/ledger/approvals.ts';
import { note } from '../../support/ledger/commands.ts';
import { type Helpdesk, helpdeskWriter, openHelpdesk } from '../../support/ledger/helpdesk.ts';

/** An approved write that goes to another system. Effect and outcome cannot commit together. */
let helpdesk: Helpdesk;
let remote: RemoteWriter;
let gateway: TestGateway;
let by: Issued;

beforeAll(async () => {
  helpdesk = await openHelpdesk();
  remote = helpdeskWriter(helpdesk);
  gateway = await openTestGateway('demo', undefined, undefined, {}, undefined, remote);
  by = await asker(gateway);
});
afterEach(() => {
  helpdesk.mood('perform');
  helpdesk.memory('true');
});
afterAll(async () => {
  await helpdesk.close();
  await gateway.close();
});

const approve = (id: string, through: RemoteWriter | undefined = remote): Promise<Decision> =>
  decide({ db: gateway.database.db, registry: gateway.corridor.registry, remote: through }, id, true, () => undefined);
const effects = (id: string): number => helpdesk.effects.filter(({ operationId }) => operationId === id).length;
const round = (): Promise<number> => upkeep({ db: gateway.database.db, registry: gateway.corridor.registry, remote });
const lapse = (id: string) =>
  gateway.database
    .sql`UPDATE gateway.operation SET lease_until = now() - interval '1 second' WHERE operation_id = ${id}`;
const textOf = async (id: string): Promise<unknown> =>
  (await gateway.database.sql`SELECT command FROM gateway.approval WHERE operation_id = ${id}`)[0]?.['command'];

describe('an approved write to a helpdesk', () => {
  it('goes there only after the approval, once', async () => {
    const key = freshKey();
    const id = await asked(gateway, by, note('For the helpdesk'), key);
    expect(effects(id)).toBe(0);
    expect(await approve(id)).toEqual({ state: 'performed', status: 'acknowledged' });
    expect(helpdesk.effects.at(-1)).toMatchObject({
      operationId: id,
      author: '1',
      command: { text: 'For the helpdesk' },
    });
    const told = await send(gateway, by, note('For the helpdesk'), key);
    expect([told.status, told.replayed, effects(id), await textOf(id)]).toEqual([200, true, 1, null]);
  });

  it('still waits, with its key, if the helpdesk refuses to begin', async () => {
    const key = freshKey();
    const id = await asked(gateway, by, note('Refused first'), key);
    helpdesk.mood('refuse');
    expect(await approve(id)).toEqual({ state: 'refused', code: 'native_unavailable' });
    expect([await statusOf(gateway, by, id), effects(id)]).toEqual(['pending', 0]);
    expect((await send(gateway, by, note('Refused first'), key)).status).toBe(202);
    helpdesk.mood('perform');
    expect(await approve(id)).toEqual({ state: 'performed', status: 'acknowledged' });
    expect([effects(id), (await send(gateway, by, note('Refused first'), key)).status]).toEqual([1, 200]);
  });

  it('never goes there without an author, and still waits', async () => {
    const lost = await asker(gateway);
    const id = await asked(gateway, lost, note('Nobody writes it'));
    await gateway.database.sql`DELETE FROM gateway.native_author WHERE credential_id = ${lost.credential}`;
    expect(await approve(id)).toEqual({ state: 'refused', code: 'enrollment_unavailable' });
    expect([await statusOf(gateway, lost, id), effects(id)]).toEqual(['pending', 0]);
  });

  it('keeps the helpdesk’s rejection', async () => {
    const key = freshKey();
    const id = await asked(gateway, by, note('Rejected there'), key);
    helpdesk.mood('reject');
    expect(await approve(id)).toEqual({ state: 'performed', status: 'acknowledged', rejected: 'operation_conflict' });
    expect((await send(gateway, by, note('Rejected there'), key)).code).toBe('operation_conflict');
  });

  it('has an unknown outcome if the answer is lost, until the helpdesk is asked', async () => {
    const key = freshKey();
    const id = await asked(gateway, by, note('Answer lost'), key);
    helpdesk.mood('perform and lose');
    expect(await approve(id)).toEqual({ state: 'performed', status: 'outcome_unknown' });
    expect(await statusOf(gateway, by, id)).toBe('outcome_unknown');
    expect(await approve(id)).toEqual({ state: 'decided', approval: 'approved' });
    await lapse(id);
    await round();
    expect([await statusOf(gateway, by, id), effects(id), await textOf(id)]).toEqual(['acknowledged', 1, null]);
    expect((await send(gateway, by, note('Answer lost'), key)).status).toBe(200);
  });

  it.each([
    ['before the request', 'none', 0, 'outcome_unknown'],
    ['after the effect', 'true', 1, 'acknowledged'],
  ] as const)(
    'of a decider that died %s is found or told as unknown, and never sent again',
    async (_, memory, n, status) => {
      const key = freshKey();
      const id = await asked(gateway, by, note(`Died ${n}`), key);
      // The process reserves the write, and its call to the helpdesk never comes back.
      let sent: (() => void) | undefined;
      const reached = new Promise<void>((resolve) => {
        sent = resolve;
      });
      const dead: RemoteWriter = {
        perform: async (work, signal) => {
          if (n === 1) await remote.perform(work, signal);
          sent?.();
          return new Promise(() => undefined);
        },
        find: async () => undefined,
      };
      const deciding = approve(id, dead);
      await reached;
      expect((await send(gateway, by, note(`Died ${n}`), key)).code).toBe('operation_in_progress');
      helpdesk.memory(memory);
      await lapse(id);
      await round();
      expect([await statusOf(gateway, by, id), effects(id)]).toEqual([status, n]);
      // The late process cannot overwrite what upkeep has told.
      expect(await deciding).toEqual({ state: 'performed', status: 'outcome_unknown' });
      expect(await statusOf(gateway, by, id)).toBe(status);
    },
  );

  /** A helpdesk that answers `outcome` when the test says so. */
  const slow = (): { writer: RemoteWriter; reached: Promise<void>; answer: (outcome: Ending) => void } => {
    let answer: (outcome: Ending) => void = () => undefined;
    const answered = new Promise<Ending>((resolve) => {
      answer = resolve;
    });
    let arrive: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const perform = (): Promise<Ending> => {
      arrive();
      return answered;
    };
    return { writer: { perform, find: async () => undefined }, reached, answer };
  };
  const REFUSED: Ending = { refused: 'native_unavailable' };

  it('does not wait again if the refusal comes after another process has taken the write over', async () => {
    const id = await asked(gateway, by, note('Refused too late'));
    const { writer, reached, answer } = slow();
    const deciding = approve(id, writer);
    await reached;
    await lapse(id);
    // The other process still asks the helpdesk when the refusal comes.
    helpdesk.memory('hangs');
    const taking = round();
    const epoch = async (): Promise<unknown> =>
      (await gateway.database.sql`SELECT epoch FROM gateway.operation WHERE operation_id = ${id}`)[0]?.['epoch'];
    await expect.poll(epoch).toBe(2);
    answer(REFUSED);
    expect(await deciding).toEqual({ state: 'performed', status: 'outcome_unknown' });
    await taking;
    // Nobody knows whether the write had its effect, so nobody can approve it a second time.
    expect(await approve(id)).toEqual({ state: 'decided', approval: 'approved' });
    expect([await statusOf(gateway, by, id), effects(id)]).toEqual(['outcome_unknown', 0]);
  });

  it('has lapsed if the person was erased before the helpdesk refused', async () => {
    const erased = 'About a person who is erased meanwhile';
    const visitor = await visitorOf(gateway.database);
    const id = await asked(gateway, by, note(erased, visitor));
    const { writer, reached, answer } = slow();
    const deciding = approve(id, writer);
    await reached;
    await erase(gateway.database.db, KEYS, { kind: 'visitor', id: visitor, reason: 'test', dryRun: false });
    expect(await textOf(id)).toBeNull();
    answer(REFUSED);
    await deciding;
    expect([await textOf(id), await statusOf(gateway, by, id)]).toEqual([null, 'lapsed']);
    expect(await approve(id)).toEqual({ state: 'decided', approval: 'lapsed' });
  });

  it('keeps no text of a write whose outcome is forgotten before anybody has asked for it', async () => {
    const id = await asked(gateway, by, note('Reserved by a process that died'));
    const { writer, reached, answer } = slow();
    const deciding = approve(id, writer);
    await reached;
    // No process ran for a day.
    await gateway.database.sql`UPDATE gateway.operation SET created_at = now() - interval '25 hours',
      lease_until = now() - interval '25 hours' WHERE operation_id = ${id}`;
    await round();
    expect([await statusOf(gateway, by, id), await textOf(id)]).toEqual(['outcome_unknown', null]);
    answer(REFUSED);
    await deciding;
    expect(await textOf(id)).toBeNull();
  });

  it('counts among the 100 that may wait while the helpdesk has not answered', async () => {
    const one = await asker(gateway);
    const ids: string[] = [];
    for (let i = 0; i < 100; i++) ids.push(await asked(gateway, one, note('One of many')));
    const { writer, reached, answer } = slow();
    const deciding = approve(ids[0] ?? '', writer);
    await reached;
    expect((await send(gateway, one, note('One too many'))).code).toBe('approval_limit');
    answer(REFUSED);
    expect(await deciding).toEqual({ state: 'refused', code: 'native_unavailable' });
    expect((await send(gateway, one, note('One too many'))).code).toBe('approval_limit');
    expect(await approve(ids[0] ?? '')).toEqual({ state: 'performed', status: 'acknowledged' });
    expect((await send(gateway, one, note('One fewer'))).status).toBe(202);
  });
});
