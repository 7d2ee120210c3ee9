import { setTimeout as pause } from 'node:timers/promises';
import { Refused } from '../../core/refused.ts';
import { StoreUnreachable, sqlState } from '../driver/errors.ts';
import { factsOfTarget, mustBeFree, mustFit } from './checks.ts';
import { mustBeTheSame, onlyCommand } from './command.ts';
import { clearSides, emptyTarget } from './ends.ts';
import { readCellFacts } from './facts.ts';
import { putGuards } from './guards.ts';
import { countable, type HeldMove, HoldOver, hold, type MoveSides, open } from './hold.ts';
import { copyState, enable, lag, publish, readSubscription, slotIsGood, subscribe } from './replication.ts';
import { digestRows, insertArrival, organizationRow, sizesOf, type TableSize } from './rows.ts';
import {
  beginAgain,
  forgetMove,
  type Move,
  noteCleared,
  noteCopied,
  noteEqual,
  noteSubscription,
  readMove,
  redirect,
  runningWork,
  startMove,
} from './state.ts';
import { partsOf } from './tables.ts';

export interface MoveOptions {
  readonly sides: MoveSides;
  /** The address of the source as the target's server reaches it. PostgreSQL reads it, not the gateway. */
  readonly from: string;
  readonly baseUrl: string;
  readonly keepDays: number;
  /** True if the operator has said the days. Then they hold for a move that has ended, too. */
  readonly keepGiven: boolean;
  readonly say: (line: string) => void;
  readonly progress: (done: number, total: number) => void;
}

export interface Moved {
  readonly rows: number | null;
  readonly bytes: number | null;
  readonly copyMs: number | null;
  readonly holdMs: number | null;
  /** Names of tables whose digests differ. Null: the command that moved the organization was stopped before it compared. */
  readonly differences: readonly string[] | null;
  readonly baseUrl: string;
  readonly keepUntil: Date | null;
}

export interface MovePlan {
  readonly sizes: readonly TableSize[];
  readonly rows: number;
  readonly bytes: number;
}

/** Rows a second of an initial copy, measured (docs/move-organization.md). */
export const COPY_RATE = 9_000;
/** Holds of one run. */
const HOLDS = 3;
/** Bytes of WAL that may be open when the hold begins. */
const NEAR = 1_000_000;
/** Errors of the target's workers without progress, after which the command stops. They try again every 5 s. */
const ERRORS = 6;

const planOf = (sizes: readonly TableSize[]): MovePlan => ({
  sizes,
  rows: sizes.reduce((sum, { rows }) => sum + rows, 0),
  bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
});

/** What has to hold before anything is made. Returns the sizes of the tables that move. */
export async function checkMove(sides: MoveSides): Promise<MovePlan> {
  const { source, target, tenant } = sides;
  await mustFit(sides);
  await mustBeFree(source, target, tenant);
  await mustRest(sides);
  return planOf(await sizesOf(source, tenant));
}

async function mustRest({ source, tenant }: MoveSides): Promise<void> {
  const work = await runningWork(source, tenant);
  if (work !== undefined)
    throw new Refused(`An ${work} of this organization is not finished. Let it end, and run the command again.`);
}

/** Moves the organization, or continues where a command was stopped. */
export async function moveOrganization(options: MoveOptions): Promise<Moved> {
  const only = await onlyCommand(options.sides);
  try {
    const { source, tenant } = options.sides;
    const begun = await readMove(source, tenant);
    if (begun) await mustBeTheSame(options.sides, begun);
    if (begun?.phase === 'moved') return await finish(options, begun, undefined, null);
    const plan = begun ? planOf(await sizesOf(source, tenant)) : await checkMove(options.sides);
    if (!(await begin(options, begun))) {
      const ended = await readMove(source, tenant);
      if (ended?.phase !== 'moved') throw new Error('the move is gone');
      return await finish(options, ended, undefined, null);
    }
    await copy(options, plan, only.mustHold);
    const held = await holdUntilMoved(options, only.mustHold);
    const move = await readMove(source, tenant);
    if (!move) throw new Error('the move is gone');
    return await finish(options, move, held, plan);
  } finally {
    await only.close();
  }
}

/** Makes the marks at both sides, the publication and the subscription, or what is missing of them. */
async function begin({ sides, baseUrl, from, say }: MoveOptions, begun: Move | undefined): Promise<boolean> {
  const { source, target, tenant, at } = sides;
  const [here, there] = await Promise.all([readCellFacts(source), factsOfTarget(target)]);
  if (!(await startMove(source, tenant, baseUrl, there.identity))) return false;
  await at('marked');
  if (!(await readMove(target, tenant)))
    await insertArrival(target, tenant, await organizationRow(source, tenant), { baseUrl, peer: here.identity }).catch(
      async (error: unknown) => {
        if (sqlState(error) !== '23505') throw error;
        await forgetMove(source, tenant);
        throw new Refused('Another organization of the target has the same external_id, id or host.', { cause: error });
      },
    );
  await at('arriving');
  await publish(source, tenant);
  await at('published');
  const subscription = await readSubscription(target, tenant);
  if (subscription && (await slotIsGood(source, tenant))) {
    if (!subscription.enabled) await enable(target, tenant);
    say('The move continues.');
    await noteSubscription(source, tenant, subscription.oid);
    return true;
  }
  if (typeof begun?.subscription === 'string') say('The copy starts over: its replication slot is gone.');
  await emptyTarget(sides, { peer: there.identity, subscription: begun?.subscription ?? null });
  await beginAgain(source, tenant);
  await subscribe(source, target, tenant, from).catch((error: unknown) => {
    // Class 08 of SQLSTATE: the target's server could not connect to the source. The other codes are of this command.
    const state = sqlState(error instanceof StoreUnreachable ? error.cause : error);
    if (error instanceof StoreUnreachable && !/^08...$/.test(state)) throw error;
    throw new Refused(
      state === '2F003'
        ? 'The role of --to is no superuser, so PostgreSQL wants a password in --from (default: DATABASE_URL), and a source that asks for it. Name a role with a password there, or give a superuser in --to.'
        : 'The target could not subscribe to the source. Check that its server reaches the address of --from (default: DATABASE_URL), with its password and not through a pooler, and that the role may replicate; the log of the target says why.',
      { cause: error },
    );
  });
  const made = await readSubscription(target, tenant);
  if (made) await noteSubscription(source, tenant, made.oid);
  await at('subscribed');
  return true;
}

/** Waits until all tables are copied and the target follows closely. */
async function copy(options: MoveOptions, plan: MovePlan, mustHoldCommand: () => Promise<void>): Promise<void> {
  const { sides, progress, say } = options;
  const { source, target, tenant, at } = sides;
  const replicated = new Map(partsOf(tenant).flatMap((one) => (one.copied ? [] : [[one.name, 0]])));
  for (const { name, rows } of plan.sizes) if (replicated.has(name)) replicated.set(name, rows);
  const total = [...replicated.values()].reduce((sum, rows) => sum + rows, 0);
  let most = -1;
  let errors: number | undefined;
  for (let waited = false; ; await pause(250)) {
    const state = await reaching(() => copyState(target, tenant));
    const done = state.ready.reduce((sum, name) => sum + (replicated.get(name) ?? 0), 0) + state.copying;
    const copied = state.ready.length === state.tables && state.tables > 0;
    if (done > most || copied || errors === undefined || state.errors < errors) {
      most = Math.max(most, done);
      errors = state.errors;
    }
    if (state.errors - errors >= ERRORS)
      throw new Refused(
        'The target cannot take the rows; the log of its PostgreSQL says why. Mend it and run the command again, or abandon the move.',
      );
    progress(Math.min(done, total), total);
    await at('copying');
    await mustHoldCommand();
    if (!copied) continue;
    await noteCopied(source, tenant);
    if ((await reaching(() => lag(source, tenant))) < NEAR) break;
    if (!waited) say('All rows are copied. The target catches up.');
    waited = true;
  }
  await at('followed');
}

/** Tries again for a minute while a server is away. */
async function reaching<T>(work: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + 60_000; ; await pause(500)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnreachable)) throw error;
      if (performance.now() > end)
        throw new Refused(
          'A PostgreSQL of the move cannot be reached. Run the command again when it works; the move continues.',
        );
    }
  }
}

async function holdUntilMoved({ sides, say }: MoveOptions, mustHoldCommand: () => Promise<void>): Promise<HeldMove> {
  const busy = await putGuards(sides.source, sides.tenant);
  if (busy !== undefined)
    throw new Refused(
      `${busy} was in use without a break, so the move could not guard it. The organization works on. Run the command again later.`,
    );
  await sides.at('guarded');
  const counted = await countable(sides);
  for (let left = HOLDS; ; ) {
    await mustHoldCommand();
    try {
      return await hold(sides, counted);
    } catch (error) {
      if (error instanceof Refused) throw error;
      if ((await reaching(() => readMove(sides.source, sides.tenant)))?.phase === 'moved')
        throw new Refused(
          'The organization has left this cell, but it could not be opened in the other one. Run the command again at once: until then, no cell serves the organization.',
          { cause: error },
        );
      if (!(error instanceof HoldOver || error instanceof StoreUnreachable)) throw error;
      left--;
      const why = error instanceof HoldOver ? error.message : 'a PostgreSQL was away';
      if (left === 0)
        throw new Refused(
          `The move did not end, because ${why}. The organization works on where it was, and its copy follows. Run the command again when fewer writes run, or abandon the move: until then, the source keeps the WAL that the target has not read.`,
        );
      say(`A hold ended without a move: ${why}. The organization works on. The next one follows in 2 seconds.`);
      await pause(2_000);
    }
  }
}

/** Everything after the commit of the move. It can be repeated. */
async function finish(
  options: MoveOptions,
  move: Move,
  held: HeldMove | undefined,
  plan: MovePlan | null,
): Promise<Moved> {
  const { sides, keepDays, say } = options;
  try {
    if (!held && !move.cleared) await open(sides);
    let differences: string[] | null = null;
    if (held) {
      say('The organization has moved. Its rows are compared.');
      const parts = partsOf(sides.tenant).filter((one) => !one.copied);
      const [here, there] = await Promise.all([digestRows(sides.source, parts), held.sumsThere]);
      differences = here.flatMap((one) => {
        const other = there.find(({ name }) => name === one.name);
        return other?.rows === one.rows && other.digest === one.digest ? [] : [one.name];
      });
      // Kept at once: if the rest fails, the next run cannot compare, because the organization has changed at the target.
      if (differences.length === 0) await noteEqual(sides.source, sides.tenant, keepDays);
      await sides.at('compared');
    }
    // Rows are deleted only after an equal comparison, or when the operator says so by running the command once more.
    const equal = held ? differences?.length === 0 : move.keepUntil !== null;
    if (!move.cleared) await clearSides(sides, move, equal ? keepDays : null);
    else if (options.keepGiven || move.keepUntil === null) await noteCleared(sides.source, sides.tenant, keepDays);
    if (!held) await redirect(sides.source, sides.tenant, options.baseUrl);
    const { keepUntil = null, baseUrl = options.baseUrl } = (await readMove(sides.source, sides.tenant)) ?? {};
    return {
      ...{ rows: plan?.rows ?? null, bytes: plan?.bytes ?? null, copyMs: move.copyMs, holdMs: held ? held.ms : null },
      ...{ differences, baseUrl, keepUntil },
    };
  } finally {
    await held?.close();
  }
}
