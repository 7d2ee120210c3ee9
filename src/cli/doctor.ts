import type { Command } from 'commander';
import { wellFormed } from '../auth/tokens.ts';
import type { WebsiteKey } from '../core/ids.ts';
import * as doctor from '../store/doctor/doctor.ts';
import type { Database } from '../store/driver/postgres.ts';
import { missingIndexes } from '../store/open/build.ts';
import { lookAt } from '../store/open/server.ts';
import type { RunAction } from './context.ts';
import { existingStore } from './existing-store.ts';
import { findMoves } from './open-moves.ts';
import { table } from './output.ts';

interface DoctorFinding {
  readonly check: string;
  /** `error`: the store is inconsistent. `warning`: something may not work as its owner expects. */
  readonly severity: 'error' | 'warning';
  readonly detail: string;
  readonly count: number;
}

type Check = (db: Database) => Promise<DoctorFinding[]>;

export function doctorCommand(program: Command, register: RunAction): void {
  const command = program
    .command('doctor')
    .description('check the store and change nothing; exit code 1 with an error, 0 with warnings only');
  register(command, async ({ out, store, config }) => {
    const storeName = existingStore(config);
    const { db } = await store();
    const findings = await runChecks(db);
    out.result(
      { store: storeName, findings, checks: CHECKS.length },
      findings.length === 0
        ? `${CHECKS.length} checks of ${storeName}, no findings.`
        : `Findings in ${storeName}:\n\n${findingsTable(findings)}`,
    );
    if (findings.some(({ severity }) => severity === 'error')) process.exitCode = 1;
  });
}

const findingsTable = (findings: readonly DoctorFinding[]): string =>
  table(
    ['CHECK', 'SEVERITY', 'COUNT', 'DETAIL'],
    findings.map(({ check, severity, count, detail }) => [check, severity, String(count), detail]),
  );

export async function runChecks(db: Database): Promise<DoctorFinding[]> {
  const findings: DoctorFinding[] = [];
  // The checks run one after the other, so that users of the store can keep working.
  for (const check of CHECKS) findings.push(...(await check(db)));
  return findings;
}

const counting =
  (severity: DoctorFinding['severity']) =>
  (check: string, detail: string, count: (db: Database) => Promise<number>): Check =>
  async (db) => {
    const n = await count(db);
    return n === 0 ? [] : [{ check, severity, detail, count: n }];
  };
const error = counting('error');
const warning = counting('warning');

/** Runs a check for each website. On a large store, one statement for all websites would exceed its timeout. */
const perSite =
  (check: string, detail: string, count: (db: Database, site: WebsiteKey) => Promise<number>): Check =>
  async (db) => {
    const findings: DoctorFinding[] = [];
    for (const site of await doctor.sitesOfStore(db)) {
      const n = await count(db, site);
      if (n > 0) findings.push({ check, severity: 'error', detail: `${site.id}: ${detail}`, count: n });
    }
    return findings;
  };

const journal: Check = async (db) =>
  (await doctor.brokenJournals(db)).map(({ id }) => ({
    check: 'journal',
    severity: 'error',
    detail: `${id}: positions are missing between the first kept position and the head`,
    count: 1,
  }));

const secrets: Check = async (db) => {
  const counts = new Map<string, number>();
  for (const { table: name, secret } of await doctor.suspectedSecrets(db)) {
    if (wellFormed(secret) || secret.startsWith('whsec_')) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => ({
    check: 'secrets',
    severity: 'error',
    detail: `gateway.${name} holds secrets in plain text; rotate the credentials or webhooks`,
    count,
  }));
};

const moves: Check = async (db) =>
  (await findMoves(db)).map((one) => ({ ...one, severity: 'warning' as const, count: 1 }));

const CHECKS: readonly Check[] = [
  perSite('totals', 'conversations whose totals differ from their messages', doctor.wrongTotals),
  perSite('files', 'attachment counts or file contents that do not match', doctor.wrongFiles),
  perSite('numbers', 'record types with numbers above the last assigned number', doctor.overtakenNumbers),
  journal,
  error('receipts', 'receipts of an event type that does not exist', doctor.unknownReceipts),
  error(
    'operations',
    `writes still pending ${doctor.UPKEEP_LIMIT} s after their lease ended, or without a lease`,
    doctor.stuckOperations,
  ),
  perSite(
    'effects',
    'notes written without their operation or without their receipt in the journal',
    doctor.unrecordedNotes,
  ),
  error('tasks', 'unfinished tasks that no running gateway holds', doctor.lapsedTasks),
  error('artifacts', 'artifacts of tasks that are not completed', doctor.misplacedArtifacts),
  error('expired', 'tasks past their expiry; a running gateway deletes them', doctor.expiredTasks),
  error('deliveries', 'webhook deliveries that no running gateway has resumed', doctor.lapsedDeliveries),
  secrets,
  error('tokens', 'usable tokens of a revoked credential; revoke the credential again', doctor.orphanedTokens),
  error('oauth_tokens', 'access tokens whose consent or credential has ended', doctor.outlivingTokens),
  error(
    'people',
    'sessions and consents of people who may not consent; disable these people again',
    doctor.unentitledPeople,
  ),
  error('refresh', 'consents with more than one usable refresh token; revoke these consents', doctor.splitFamilies),
  warning('websites', 'credentials that grant a website that does not exist', doctor.missingWebsites),
  warning(
    'authors',
    'mapped authors who cannot write: the operator is disabled, or the website is not granted',
    doctor.uselessAuthors,
  ),
  warning(
    'webhooks',
    'enabled webhooks whose credential has ended or lacks a grant for the website',
    doctor.unpermittedEndpoints,
  ),
  error(
    'read_only',
    'the server takes no changes: see default_transaction_read_only of the server, the database and the role',
    doctor.readOnly,
  ),
  warning(
    'locale',
    'the database is not in UTF8 or knows the letter case of ASCII only, so a search misses words; restore a dump into a database with the encoding UTF8 and a locale such as C.UTF-8',
    async (db) => ((await lookAt(db)).foldsCase ? 0 : 1),
  ),
  warning(
    'indexes',
    'indexes for which search, customer_find or erase waits; a running gateway builds them, and so does gateway migrate',
    missingIndexes,
  ),
  warning(
    'imports',
    'interrupted imports, or imports without all receipts; finish these imports with import --resume',
    doctor.unfinishedImports,
  ),
  moves,
  warning(
    'sources',
    'live sources that fail, are more than a minute behind, or could not be compared; see gateway source show',
    doctor.lateSources,
  ),
  warning(
    'rejects',
    'rows of live sources that the gateway could not take; see gateway source show',
    doctor.rejectedRows,
  ),
];
