import { readFileSync } from 'node:fs';
import type postgres from 'postgres';
import { packageRoot } from '../../src/config/package.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import type { Database } from '../../src/store/driver/postgres.ts';
import { issue } from '../support/credentials.ts';
import { type Meter, openMcp, openPlain, type ToolHost } from './hosts.ts';
import { filled, hasPassed, type Judgement, judge } from './score.ts';
import { type AgentTask, type Facts, GRANTS, type TaskGrant } from './task.ts';

/** A gateway with the demo, and a superuser's connection to its database. */
export interface Desk {
  readonly url: string;
  readonly sql: postgres.Sql;
  readonly db: Database;
}

export type ServerKind = 'mcp' | 'plain';

/** Adds the visitors of the tasks. Their messages hold the injected instructions. `-90m` is 90 minutes before `now`. */
export async function plant({ db }: Desk, now: Date): Promise<void> {
  const text = readFileSync(new URL('test/agents/planted.ndjson', packageRoot), 'utf8').replaceAll(
    /"-(\d+)m"/g,
    (_, minutes: string) => JSON.stringify(new Date(now.getTime() - Number(minutes) * 60_000)),
  );
  const records: unknown[] = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { rejected } = await importRecords(db, records, { organization: 'larkspur', name: 'planted' });
  if (rejected > 0) throw new Error(`${rejected} planted records were rejected`);
}

export async function factsOf({ sql }: Desk, task: AgentTask): Promise<Facts> {
  const rows = await sql.unsafe<Record<string, unknown>[]>(task.facts);
  const [row] = rows;
  if (!row || rows.length > 1) throw new Error(`${task.id}: the facts are ${rows.length} rows`);
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (value === null) throw new Error(`${task.id}: no ${name}`);
      return [name, Array.isArray(value) ? value.map(String) : String(value)];
    }),
  );
}

/** A record that a tool of these credentials can change. `line` is what a task says about it. */
interface Changeable {
  readonly what: 'note' | 'disposition' | 'subscription';
  readonly site: string | null;
  readonly id: string;
  readonly line: string | null;
  readonly updated_at: Date | null;
}

async function recordsOf({ sql }: Desk): Promise<readonly Changeable[]> {
  return sql<Changeable[]>`
    SELECT 'note' AS what, site, id::text, NULL::timestamptz AS updated_at,
      'note vis_' || tenant || '_' || site || '_' || visitor_id || ' ' || text AS line FROM platform.note
    UNION ALL SELECT 'disposition', site, id::text, updated_at,
      'disposition cnv_' || tenant || '_' || site || '_' || id || ' ' || disposition FROM platform.conversation
    UNION ALL SELECT 'subscription', NULL, id, NULL, 'subscription ' || id FROM gateway.subscription`;
}

const keyOf = ({ what, site, id }: Changeable): string => `${what} ${site} ${id}`;

/** The records of `some` that `others` do not have, or have with another line. */
function onlyIn(some: readonly Changeable[], others: readonly Changeable[]): Changeable[] {
  const lines = new Map(others.map((one) => [keyOf(one), one.line]));
  return some.filter((one) => one.line !== (lines.get(keyOf(one)) ?? null));
}

const linesOf = (records: readonly Changeable[]): string[] => records.flatMap(({ line }) => line ?? []);

const difference = (before: readonly Changeable[], after: readonly Changeable[]): string[] => [
  ...linesOf(onlyIn(after, before)),
  ...linesOf(onlyIn(before, after)).map((line) => `no more ${line}`),
];

/** Makes the records as they were, so that the next attempt finds the same data. */
async function restore(desk: Desk, before: readonly Changeable[]): Promise<void> {
  const { sql } = desk;
  const after = await recordsOf(desk);
  for (const { what, site, id } of onlyIn(after, before)) {
    if (what === 'note') await sql`DELETE FROM platform.note WHERE tenant = 1 AND site = ${site} AND id = ${id}`;
    if (what === 'subscription') await sql`DELETE FROM gateway.subscription WHERE id = ${id}`;
    const was = before.find((one) => what === 'disposition' && one.id === id && one.site === site);
    if (!was) continue;
    const value = was.line?.split(' ').slice(2).join(' ') ?? null;
    await sql`UPDATE platform.conversation SET disposition = ${value}, updated_at = ${was.updated_at}
      WHERE tenant = 1 AND site = ${site} AND id = ${id}`;
  }
}

/** What the agent of an attempt gets: tools and the words of the user. */
export interface Meeting {
  readonly host: ToolHost;
  readonly ask: string;
}

/** What an agent did besides its calls. */
export interface Said {
  /** The last message. Empty if there is none. */
  readonly message: string;
  readonly end: 'answered' | 'refused' | 'failed' | 'timeout' | 'turns';
  /** In words, why an attempt did not end with an answer. */
  readonly fault?: string;
  readonly tokens?: { readonly input: number; readonly output: number };
  /** Calls whose arguments were no JSON object. */
  readonly malformed?: number;
}

export interface Attempt extends Judgement, Said, Meter {
  readonly task: string;
  readonly kind: AgentTask['kind'];
  readonly server: ServerKind;
  readonly run: number;
  readonly passed: boolean;
  readonly inBudget: boolean;
  readonly seconds: number;
}

export interface Trial {
  readonly server: ServerKind;
  /** The path of the MCP address. It can list fewer tools. */
  readonly path: string;
  readonly run: number;
}

const askOf = (task: AgentTask, facts: Facts): string =>
  filled(task.instructions.replaceAll(/\s+/g, ' '), facts).join(' ');

let keys = 0;

/** One attempt with a credential of its own, so that keys, quota and ledger of two attempts never meet. */
export async function attempt(
  desk: Desk,
  task: AgentTask,
  { server, path, run }: Trial,
  agent: (meeting: Meeting) => Promise<Said>,
): Promise<Attempt> {
  const start = await recordsOf(desk);
  const grant: TaskGrant = GRANTS[task.grant];
  const { token } = await issue(desk.sql, 1, grant);
  const key = `${task.id}-${process.pid}-${++keys}`;
  let facts: Facts = { ...(await factsOf(desk, task)), key };
  try {
    if (task.initial_write) {
      const [target = ''] = filled(task.initial_write.path, facts);
      const { status } = await fetch(`${desk.url}${target}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
        body: JSON.stringify(task.initial_write.body),
      });
      if (status !== 200) throw new Error(`${task.id}: the initial write was answered with ${status}`);
      facts = { ...(await factsOf(desk, task)), key };
    }
    const before = await recordsOf(desk);
    const host = await (server === 'mcp' ? openMcp(`${desk.url}${path}`, token) : openPlain(desk.url, token));
    const began = performance.now();
    const ask = askOf(task, facts);
    const said = await agent({ host, ask });
    const seconds = (performance.now() - began) / 1_000;
    await host.close();
    const judgement = judge(task, facts, said.message, difference(before, await recordsOf(desk)));
    const { calls, received } = host.meter;
    return {
      ...{ task: task.id, kind: task.kind, server, run, ...said, ...judgement, ...host.meter, seconds },
      passed: said.end === 'answered' && hasPassed(judgement),
      inBudget: calls <= task.budget.calls && received <= task.budget.bytes,
    };
  } finally {
    await restore(desk, start);
  }
}

/** The task with its facts filled in, in the form of a task file of tau-bench. */
export async function tauOf(desk: Desk, task: AgentTask): Promise<object> {
  const facts = { ...(await factsOf(desk, task)), key: 'KEY' };
  const { communicate_info, never_communicate = [], db = [] } = task;
  const texts = (all: readonly string[]): string[] => all.flatMap((one) => filled(one, facts));
  return {
    id: task.id,
    description: { purpose: task.kind },
    user_scenario: { persona: null, instructions: askOf(task, facts) },
    initial_state: null,
    evaluation_criteria: {
      ...{ actions: [], communicate_info: texts(communicate_info), never_communicate: texts(never_communicate) },
      ...{ db: texts(db), reward_basis: ['DB', 'COMMUNICATE'] },
    },
  };
}
