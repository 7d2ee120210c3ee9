import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { packageRoot } from '../../../src/config/package.ts';
import { decide } from '../../../src/gateway/approvals.ts';
import { loadTools } from '../../../src/gateway/load.ts';
import { demoRecords } from '../../../src/sources/files/demo.ts';
import { importRecords } from '../../../src/sources/files/import.ts';
import { openDatabase } from '../../../src/store/driver/postgres.ts';
import { openEmbedded } from '../../../src/store/embedded/embedded.ts';
import { migrate } from '../../../src/store/open/migrate.ts';
import { issue } from '../credentials.ts';
import {
  type AnyWriteName,
  assignment,
  BY_POLICY,
  type Command,
  detection,
  disposition,
  note,
  plan,
  reply,
  restOf,
  status,
  WRITES,
} from '../ledger/commands.ts';
import { LOG_EFFECTS } from '../ledger/effects.ts';
import { openProxy, type WireProxy } from '../pgwire.ts';
import { DEMO_NOW } from '../postgres.ts';
import { scratch } from '../scratch.ts';

/** The answer to one attempt. `lost`: none came, and the outcome is unknown. */
export type Told =
  | {
      readonly status: number;
      readonly code: string | undefined;
      readonly text: string;
      readonly operationId: string | undefined;
      readonly ms: number;
    }
  | { readonly status: 'lost'; readonly error: string; readonly ms: number };

/** One command of a client. All attempts, on every replica, use the same idempotency key. */
export interface Trial {
  readonly key: string;
  readonly command: Command;
  /** True if a person must approve the command first. */
  readonly waits: boolean;
  /** Identifies the command's effect in the store. Undefined for a command without one, or if the answer tells it. */
  readonly mark: string | undefined;
  readonly told: Told[];
}

export interface FaultWorld {
  readonly proxy: WireProxy;
  /** A superuser's connection that goes directly to the PostgreSQL server. */
  readonly sql: postgres.Sql;
  readonly token: string;
  trial(tool: AnyWriteName, site?: 1 | 2, waits?: boolean): Trial;
  readonly trials: readonly Trial[];
  send(trial: Trial, url: string): Promise<Told>;
  /**
   * Repeats the attempt with the same key on each replica in turn until an answer is final, for at most 20 s. A person
   * approves a command that waits.
   */
  finish(trial: Trial, urls: () => readonly string[]): Promise<Told>;
  /** Crashes the server with pg_ctl -m immediate. Resolves when the server answers again. */
  crash(): Promise<void>;
  /** Compares the clients' answers with the store. Returns the faults and the figures for the test's summary. */
  audit(): Promise<Figures>;
  doctor(): { readonly findings: readonly unknown[] };
  close(): Promise<void>;
}

export interface Figures {
  readonly wrong: readonly string[];
  readonly trials: number;
  readonly attempts: number;
  readonly lostReplies: number;
  readonly acknowledged: number;
  readonly effects: number;
  readonly doubles: number;
  readonly lost: number;
}

export const DATABASE = 'gateway';
/** Final codes: after one of them, a client does not repeat the command. */
const FINAL = new Set(['outcome_unknown', 'idempotency_conflict', 'operation_conflict']);
/** Milliseconds that a client waits for one answer. */
const PATIENCE = 20_000;

/**
 * Opens a world for at most `most` trials. It has its own PostgreSQL server with the demo's data, which tests may
 * crash, and a log of all effects.
 */
export async function openFaultWorld(most: number): Promise<FaultWorld> {
  const dataDir = scratch('writes');
  const store = await openEmbedded({ dataDir, log: () => undefined });
  const target = { host: store.host, port: store.port, database: DATABASE, username: 'postgres' };
  const db = openDatabase({ target, connections: 2, statementTimeout: 60_000, name: 'setup' });
  await migrate(db);
  await importRecords(db, demoRecords(new Date(DEMO_NOW)), {});
  const desk = { db, registry: await loadTools() };
  const sql = postgres({ ...target, max: 2, onnotice: () => undefined, backoff: () => 0.05 });
  await sql.unsafe(`
    ${LOG_EFFECTS}
    -- The log of every change of status that a write makes to its receipt.
    CREATE TABLE public.move (operation_id text, old text, new text);
    CREATE FUNCTION public.move() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO public.move VALUES (OLD.operation_id, OLD.status, NEW.status); RETURN NULL; END $$;
    CREATE TRIGGER move AFTER UPDATE ON gateway.operation FOR EACH ROW EXECUTE FUNCTION public.move();
    GRANT ALL ON public.move TO PUBLIC;
    UPDATE platform.website SET crm_integrated = false;
    -- Every trial has its own disposition, which identifies the trial's effect.
    INSERT INTO platform.disposition
    SELECT (jsonb_populate_record(NULL::platform.disposition, to_jsonb(d) ||
             jsonb_build_object('id', 100000 + n, 'external_id', 'd' || d.site || '-' || n, 'value', 'd-' || n))).*
      FROM (SELECT DISTINCT ON (site) * FROM platform.disposition WHERE enabled ORDER BY site, id) d, generate_series(1, ${most}) n;
    UPDATE platform.native_id SET last = 9000000 WHERE kind = 'disposition';
    ANALYZE;`);
  await sql`ALTER SYSTEM SET deadlock_timeout = '50ms'`;
  await sql`SELECT pg_reload_conf()`;
  const grant = { authors: ['opr_1_1_1', 'opr_1_2_1'], write: BY_POLICY, withoutApproval: ['conversation_reply'] };
  const { token } = await issue(sql, 1, grant);
  const asker = await issue(sql, 1, grant);
  await sql`UPDATE gateway.credential SET approve = ${[...WRITES, ...BY_POLICY]} WHERE id = ${asker.credential}`;
  const [before] = await sql<{ n: string }[]>`SELECT count(*) AS n FROM gateway.journal`;
  const proxy = await openProxy(target);
  const conversations = await sql<{ site: string; id: string; visitor_id: string }[]>`
    SELECT site, id, visitor_id FROM platform.conversation WHERE visitor_id IS NOT NULL ORDER BY site, id`;
  const trials: Trial[] = [];

  const send = async (trial: Trial, url: string): Promise<Told> => {
    const { path, body } = restOf(trial.command);
    const began = performance.now();
    let told: Told;
    try {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${trial.waits ? asker.token : token}`,
          ...{ 'content-type': 'application/json', 'idempotency-key': trial.key },
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(PATIENCE),
      });
      const text = await response.text();
      const [, code] = /"code":"(\w+)"/.exec(response.ok ? '' : text) ?? [];
      const operationId = response.headers.get('x-gateway-operation-id') ?? undefined;
      told = { status: response.status, code, text, operationId, ms: performance.now() - began };
    } catch (error) {
      told = { status: 'lost', error: String(error), ms: performance.now() - began };
    }
    trial.told.push(told);
    return told;
  };

  return {
    proxy,
    sql,
    token,
    trials,
    send,
    trial(tool, site = 1, waits = false) {
      const n = trials.length + 1;
      const of = conversations.filter((one) => one.site === String(site));
      const about = of[n % of.length];
      const feature = site === 1 ? 'aif_1_1_5' : 'aif_1_2_3';
      const version = site === 1 ? 3 : 2;
      const conversation = `cnv_1_${site}_${about?.id}`;
      const commands: Record<AnyWriteName, Command> = {
        visitor_note_add: note(`note-${n}`, `vis_1_${site}_${about?.visitor_id}`),
        conversation_disposition_set: disposition(`d-${n}`, conversation),
        ai_feature_execute: detection(`text ${n}`, version, feature),
        config_plan: plan(`plan-${n}`, version, feature),
        conversation_reply: reply(`reply-${n}`, conversation),
        conversation_status_set: status(n, conversation),
        conversation_assign: assignment(n, conversation),
      };
      const { text, disposition: set } = commands[tool].input;
      const mark = text ?? set;
      const trial = {
        key: `key-${n}`,
        command: commands[tool],
        waits,
        mark: typeof mark === 'string' ? mark : undefined,
        told: [],
      };
      trials.push(trial);
      return trial;
    },
    async finish(trial, urls) {
      const until = Date.now() + 60_000;
      for (let i = 0; Date.now() < until; i++) {
        const all = urls();
        const told = await send(trial, all[i % all.length] ?? '');
        if (told.status === 200 || (told.status !== 'lost' && FINAL.has(told.code ?? ''))) return told;
        // A fault can harm the decision too. If the command still waits, the next attempt says so.
        if (told.status === 202)
          await decide(desk, told.operationId ?? '', true, () => undefined).catch(() => undefined);
        await pause(Math.min(25 * 2 ** i, 500));
      }
      throw new Error(`no end within 20 s: ${JSON.stringify(trial)}`);
    },
    async crash() {
      const pid = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
      process.kill(pid, 'SIGQUIT');
      await ended(pid);
      for (;;) {
        const up = await sql`SELECT 1`.then(
          () => true,
          () => false,
        );
        if (up) return;
        await pause(20);
      }
    },
    audit: () => audit(sql, trials, Number(before?.n)),
    doctor() {
      const root = fileURLToPath(packageRoot);
      const { stdout, stderr } = spawnSync(process.execPath, [join(root, 'dist/src/main.js'), 'doctor', '--json'], {
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], DATABASE_URL: proxyless(target), GATEWAY_DATA_DIR: dataDir },
      });
      if (stdout === '') throw new Error(`gateway doctor: ${stderr}`);
      return JSON.parse(stdout);
    },
    async close() {
      await proxy.close();
      await sql.end({ timeout: 5 });
      await db.close();
      await store.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Resolves when the process has ended. After a signal, a slow server still answers for a moment. */
export async function ended(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return; // no such process
    }
    await pause(10);
  }
}

const proxyless = ({ host, port }: { host: string; port: number }): string =>
  `postgres://postgres@${encodeURIComponent(host)}:${port}/${DATABASE}`;

const ALLOWED = new Map([
  [200, /^$/],
  [409, /^(operation_in_progress|outcome_unknown)$/],
  [503, /^(service_unavailable|authority_unavailable)$/],
]);

async function audit(sql: postgres.Sql, trials: readonly Trial[], journalBefore: number): Promise<Figures> {
  const marks = await sql<{ mark: string; n: string }[]>`
    SELECT operation || ' ' || mark AS mark, count(*) AS n FROM public.effect GROUP BY 1`;
  const effects = new Map(marks.map(({ mark, n }) => [mark, Number(n)]));
  const rows = new Map(
    (
      await sql<{ operation_id: string; status: string; outcome: unknown }[]>`
        SELECT operation_id, status, outcome FROM gateway.operation`
    ).map((row) => [row.operation_id, row]),
  );
  const wrong: string[] = [];
  const tell = (what: string, trial: Trial): void => void wrong.push(`${what}: ${JSON.stringify(trial)}`);
  let [doubles, lost, acknowledged, effected] = [0, 0, 0, 0];
  for (const trial of trials) {
    const answers = trial.told.flatMap((told) => (told.status === 'lost' ? [] : [told]));
    const done = answers.filter(({ status }) => status === 200);
    for (const { status, code = '' } of answers) {
      if (!ALLOWED.get(status)?.test(code) && !(status === 202 && trial.waits))
        tell(`answered ${status} ${code}`, trial);
    }
    if (new Set(done.map(({ text }) => text)).size > 1) tell('different bodies', trial);
    const ids = new Set(answers.flatMap(({ operationId }) => operationId ?? []));
    if (ids.size > 1) tell('different operations', trial);
    const [id = ''] = ids;
    const row = rows.get(id);
    if (done.length > 0) acknowledged++;
    if (done.length > 0 && row?.status !== 'acknowledged') tell('acknowledged, but not in the ledger', trial);
    const mark = trial.mark ?? changeOf(trial.command, done[0]?.text);
    if (mark === undefined) continue;
    const n = effects.get(`${trial.command.tool} ${mark}`) ?? 0;
    effected += n;
    if (n > 1) doubles++;
    if (n > 1) tell(`${n} effects`, trial);
    if (n === 0 && done.length > 0) lost++;
    if (n === 0 && done.length > 0) tell('acknowledged, and no effect', trial);
    if (n === 1 && row && row.status !== 'acknowledged') tell('an effect, but not acknowledged', trial);
  }
  wrong.push(...(await broken(sql, journalBefore)));
  return {
    wrong,
    trials: trials.length,
    attempts: trials.reduce((sum, { told }) => sum + told.length, 0),
    lostReplies: trials.reduce((sum, { told }) => sum + told.filter(({ status }) => status === 'lost').length, 0),
    acknowledged,
    effects: effected,
    doubles,
    lost,
  };
}

/** The mark of a status or an assignment: what the conversation became, and when. Undefined without an answer. */
function changeOf({ tool, input }: Command, answer: string | undefined): string | undefined {
  if (answer === undefined || (tool !== 'conversation_status_set' && tool !== 'conversation_assign')) return undefined;
  const { status, operator_id, updated_at } = JSON.parse(answer).data;
  return [status ?? operator_id?.replace(/.*_/, ''), input['conversation_id'], updated_at].join(' ');
}

async function broken(sql: postgres.Sql, journalBefore: number): Promise<string[]> {
  const rows = await sql<{ wrong: string }[]>`
    SELECT 'pending: ' || operation_id AS wrong FROM gateway.operation WHERE status = 'pending' AND coalesce(lease_until, '-infinity') < now()
    UNION ALL SELECT 'note acknowledged without a note: ' || o.operation_id FROM gateway.operation o
      WHERE o.operation = 'visitor_note_add' AND o.outcome ->> 'done' IS NOT NULL
        AND NOT EXISTS (SELECT FROM platform.note n WHERE n.external_id = o.operation_id AND n.id = (o.outcome -> 'done' ->> 'note_id')::int)
    UNION ALL SELECT 'note without its operation: ' || n.id FROM platform.note n
      WHERE n.text LIKE 'note-%' AND NOT EXISTS (SELECT FROM gateway.operation o WHERE o.operation_id = n.external_id AND o.status = 'acknowledged')
    UNION ALL SELECT 'reply acknowledged without its message: ' || o.operation_id FROM gateway.operation o
      WHERE o.operation = 'conversation_reply' AND o.outcome ->> 'done' IS NOT NULL
        AND NOT EXISTS (SELECT FROM platform.message m WHERE m.external_id = o.operation_id AND m.id = (o.outcome -> 'done' ->> 'message_id')::int)
    UNION ALL SELECT 'effects of ' || operation || ': ' || coalesce(e.n, 0) || ' of ' || coalesce(o.n, 0)
      FROM (SELECT operation, count(*) AS n FROM public.effect GROUP BY 1) e
      FULL JOIN (SELECT operation, count(*) AS n FROM gateway.operation
                  WHERE outcome ->> 'done' IS NOT NULL AND operation <> ALL ('{ai_feature_execute,config_plan}') GROUP BY 1) o USING (operation)
     WHERE e.n IS DISTINCT FROM o.n
    UNION ALL SELECT 'effect without an approval: ' || o.operation_id FROM gateway.operation o
      JOIN gateway.credential c ON c.id = o.credential_id AND o.operation = ANY (c.approve)
     WHERE o.status = 'acknowledged'
       AND NOT EXISTS (SELECT FROM gateway.approval a WHERE a.operation_id = o.operation_id AND a.state = 'approved')
    UNION ALL SELECT 'receipts of ' || event_type || ': ' || coalesce(j.n, 0) || ' of ' || e.n
      FROM (SELECT event_type, count(*) AS n FROM gateway.journal GROUP BY 1) j
      RIGHT JOIN (SELECT CASE operation WHEN 'visitor_note_add' THEN 'visitor.changed' ELSE 'conversation.changed' END AS event_type,
                         count(*) AS n FROM public.effect GROUP BY 1) e USING (event_type)
     WHERE j.n IS DISTINCT FROM e.n
    UNION ALL SELECT 'journal: ' || count(*) FROM gateway.journal
      HAVING count(*) <> ${journalBefore} + (SELECT count(*) FROM public.effect)
    UNION ALL SELECT 'positions of ' || h.site FROM gateway.journal_head h
      WHERE h.position <> (SELECT count(*) FROM gateway.journal j WHERE j.site = h.site AND j.position BETWEEN 1 AND h.position)
    UNION ALL SELECT 'moved ' || old || ' to ' || new FROM public.move
      WHERE (old, new) NOT IN (('pending', 'acknowledged'), ('pending', 'outcome_unknown'), ('outcome_unknown', 'acknowledged'),
                               ('pending', 'pending'), ('outcome_unknown', 'outcome_unknown'))
    UNION ALL SELECT 'a tombstone holds an outcome: ' || operation_id FROM gateway.operation WHERE fingerprint IS NULL AND outcome IS NOT NULL`;
  return rows.map(({ wrong }) => wrong);
}
