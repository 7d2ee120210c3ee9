import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sweep } from '../../src/tasks/sweeper.ts';
import { MessageIdConflict } from '../../src/tasks/tasks.ts';
import type { Issued } from '../support/credentials.ts';
import { times } from '../support/form.ts';
import { CONTACT, newMessage, openWorld, probe, type Replica, until, type World } from '../support/tasks.ts';

/** Compares the states of tasks on two replicas with a small model. */
let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  expect(world.errors).toEqual([]);
  await world.close();
});

/** A task in the model: its request, and every state that a reader may see from now on. */
interface Modelled {
  readonly messageId: string;
  readonly argument: number;
  readonly id: string;
  /** The final states that are still possible for the task. */
  readonly ends: Set<string>;
  readonly failures: Set<string>;
}

type Step =
  | { readonly kind: 'send' | 'resend' | 'conflict' | 'cancel'; readonly replica: 0 | 1; readonly pick: number }
  | { readonly kind: 'finish' | 'lapse'; readonly pick: number }
  | { readonly kind: 'change' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'send' as const,
        'send' as const,
        'resend' as const,
        'conflict' as const,
        'cancel' as const,
      ),
      replica: fc.constantFrom(0 as const, 1 as const),
      pick: fc.nat(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('finish' as const, 'finish' as const, 'lapse' as const),
      pick: fc.nat(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'change' as const }) },
);

const OPEN = ['submitted', 'working'];

it('any sequence of sends, cancels, ends, lapses and a change of authority', async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 25, maxLength: 45 }), async (steps) => {
      const sender = await world.issue();
      const other = await world.issue({ app: sender.app });
      const slow = probe(({ call, input }) => call('contact_get', { contact_id: input['contact_id'] }));
      const model: Modelled[] = [];
      try {
        for (const one of steps) {
          await play(one, sender, slow, model);
          await check(sender, model);
        }
        for (const task of model) task.ends.add(due(task));
        slow.release();
        await until(async () => (await open(sender)) === 0, 10_000);
        await check(sender, model);
        for (const { id } of model) {
          const moves = (await world.moves(id)).join(' ');
          expect(moves).toMatch(
            /^(working working>(completed|failed|canceled)|submitted (submitted>(failed|canceled)|submitted>working working>(completed|failed|canceled)))$/,
          );
          seen.set(moves, (seen.get(moves) ?? 0) + 1);
        }
        expect((await world.send(world.a, other.token)).state).toBe('completed');
      } finally {
        slow.release();
      }
    }),
    { numRuns: times(20, 20, 4), seed: 7, endOnFailure: true },
  );
  console.info(JSON.stringify([...seen].sort(([, x], [, y]) => y - x)));
  for (const end of ['completed', 'canceled', 'failed']) {
    expect(
      [...seen.keys()].some((moves) => moves.endsWith(end)),
      end,
    ).toBe(true);
  }
});

async function play(one: Step, sender: Issued, slow: ReturnType<typeof probe>, model: Modelled[]): Promise<void> {
  const replica: Replica = 'replica' in one && one.replica === 1 ? world.b : world.a;
  const known = 'pick' in one && model.length > 0 ? model[one.pick % model.length] : undefined;
  const input = (n: number) => ({ contact_id: CONTACT, n });
  const sending = { skill: slow.skill, wait: false };
  switch (one.kind) {
    case 'send': {
      const messageId = newMessage();
      const argument = model.length;
      const task = await world.send(replica, sender.token, { ...sending, messageId, input: input(argument) });
      expect(task.state).toBe('submitted');
      model.push({ messageId, argument, id: task.id, ends: new Set(), failures: new Set() });
      return;
    }
    case 'resend': {
      if (!known) return;
      const { messageId, argument } = known;
      const task = await world.send(replica, sender.token, { ...sending, messageId, input: input(argument) });
      expect(task.id).toBe(known.id);
      return;
    }
    case 'conflict': {
      if (!known) return;
      const sent = world.send(replica, sender.token, { ...sending, messageId: known.messageId, input: input(-1) });
      await expect(sent).rejects.toThrow(MessageIdConflict);
      return;
    }
    case 'cancel': {
      if (!known) return;
      const before = await world.row(known.id);
      known.ends.add('canceled');
      const answer = await world.cancel(replica, sender.token, known.id);
      expect(answer?.canceled).toBe(answer?.task.state === 'canceled' && before?.state !== 'canceled');
      return;
    }
    case 'finish': {
      // It is random which run the test releases, so every running task can end now.
      for (const task of model) task.ends.add(due(task));
      slow.release('one');
      return;
    }
    case 'lapse': {
      if (!known) return;
      known.ends.add('failed');
      known.failures.add('interrupted');
      await world.database.sql`UPDATE gateway.task SET lease_until = now() - interval '1 second'
        WHERE id = ${known.id} AND lease_until IS NOT NULL`;
      await sweep(world.b.db);
      return;
    }
    case 'change': {
      // A task that was released before the change may already be published. Every other task must fail.
      for (const task of model) task.failures.add('authority_changed');
      for (const task of model) if (task.ends.has('completed')) task.ends.add('failed');
      await world.database
        .sql`UPDATE gateway.credential SET callbacks = array_append(callbacks, 'https://changed.example/')
        WHERE id = ${sender.credential}`;
    }
  }
}

const due = ({ failures }: Modelled): string => (failures.has('authority_changed') ? 'failed' : 'completed');

const last = new Map<string, string>();

async function check(sender: Issued, model: readonly Modelled[]): Promise<void> {
  const rows = await world.database.sql<{ id: string; state: string; artifact: unknown; failure: string | null }[]>`
    SELECT id, state, artifact, failure FROM gateway.task WHERE installation_id = ${sender.installation}`;
  expect(rows.map(({ id }) => id).sort()).toEqual(model.map(({ id }) => id).sort());
  expect(rows.filter(({ state }) => state === 'working').length).toBeLessThanOrEqual(5);
  for (const { id, state, artifact, failure } of rows) {
    const before = last.get(id);
    if (before !== undefined && !OPEN.includes(before)) expect([id, state]).toEqual([id, before]);
    if (before === 'working') expect(state).not.toBe('submitted');
    if (!OPEN.includes(state)) expect(model.find((task) => task.id === id)?.ends.has(state), state).toBe(true);
    expect(artifact !== null).toBe(state === 'completed');
    expect(failure !== null).toBe(state === 'failed');
    if (failure !== null) expect(model.find((task) => task.id === id)?.failures.has(failure), failure).toBe(true);
    last.set(id, state);
  }
}

/**
 * Counts in one statement. With two statements, a task could change its state in between, and the sum would miss the
 * task.
 */
async function open(sender: Issued): Promise<number> {
  const [row] = await world.database.sql<{ n: number }[]>`
    SELECT count(*)::integer AS n FROM gateway.task WHERE installation_id = ${sender.installation} AND state = ANY (${OPEN})`;
  return row?.n ?? Number.NaN;
}
