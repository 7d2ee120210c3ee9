import { setTimeout as pause } from 'node:timers/promises';
import { Gauge, Registry } from 'prom-client';
import { type Gauges, readGauges, type SourceGauges } from '../store/doctor/gauges.ts';
import type { Database } from '../store/driver/postgres.ts';
import { sharing } from './sharing.ts';

/** KEPT: how long (ms) an answer of the store is used again. PATIENCE: how long (ms) a scrape waits for a new one. */
const KEPT = 5_000;
const PATIENCE = 1_000;

const HELP: Readonly<Record<Exclude<keyof Gauges, 'sources'>, readonly [name: string, help: string]>> = {
  operationsUnsettled: [
    'gateway_operations_unsettled',
    'Commands in the ledger without an outcome, counted up to 10,000.',
  ],
  operationsKept: ['gateway_operations_kept', 'Commands in the ledger, estimated by PostgreSQL.'],
  receiptsOwed: [
    'gateway_journal_receipts_owed',
    'Receipts that a running import has not appended yet, counted up to 10,000.',
  ],
  deliveriesPending: ['gateway_webhook_deliveries_pending', 'Queued deliveries, counted up to 10,000.'],
  deliveriesLate: [
    'gateway_webhook_oldest_due_seconds',
    'Seconds since the oldest queued delivery was due. 0 if none is due.',
  ],
  receiptsBehind: [
    'gateway_webhook_receipts_behind',
    'Receipts that are not queued yet, for the endpoint with the most of them.',
  ],
  endpointsEnabled: ['gateway_webhook_endpoints_enabled', 'Enabled webhook endpoints.'],
  tasksOpen: ['gateway_tasks_open', 'A2A tasks that wait or run, counted up to 10,000.'],
  sourcesFailing: ['gateway_sources_failing', 'Live sources whose last attempt failed.'],
};

/** Gauges of one source. They have the label `source`. */
const OF_SOURCE: Readonly<Record<Exclude<keyof SourceGauges, 'source'>, readonly [name: string, help: string]>> = {
  lag: ['gateway_source_lag_seconds', 'Seconds by which the store is behind a live source.'],
  behind: ['gateway_source_changes_behind', 'Changes of a live source that wait. Absent if nobody can count them.'],
  lastSuccess: ['gateway_source_last_success_timestamp_seconds', 'Time of the last successful read of a live source.'],
  failing: ['gateway_source_failing', '1 if the last attempt to read a live source failed, else 0.'],
  written: ['gateway_source_records_written', 'Records of a live source that were inserted or updated.'],
  removed: ['gateway_source_records_removed', 'Records of a live source that were removed.'],
  rejects: ['gateway_source_rejects', 'Rows of a live source that the gateway could not take, counted up to 10,000.'],
};

/**
 * Opens the gauges from the store, which are the same in all processes. Asks the store at most once in five seconds.
 * Without an answer in time, the gauges are left out and `gateway_store_up` is 0.
 */
export function openStoreGauges(db: Database): () => Promise<string> {
  const ask = sharing(() => readGauges(db), KEPT);
  return async () => {
    // A failure needs no report, because `gateway_store_up` shows it.
    const answer = ask().catch(() => undefined);
    return textOf(await Promise.race([answer, pause(PATIENCE, undefined, { ref: false })]));
  };
}

async function textOf(gauges: Gauges | undefined): Promise<string> {
  const registry = new Registry();
  const set = (name: string, help: string, value: number): void =>
    new Gauge({ name, help, registers: [registry] }).set(value);
  set('gateway_store_up', '1 if the store has answered within the last five seconds, else 0.', gauges ? 1 : 0);
  if (gauges) {
    // TypeScript types the result of Object.keys as string[], but every value is a key of the constant.
    for (const key of Object.keys(HELP) as (keyof typeof HELP)[]) set(...HELP[key], gauges[key]);
    for (const key of Object.keys(OF_SOURCE) as (keyof typeof OF_SOURCE)[]) {
      const [name, help] = OF_SOURCE[key];
      const gauge = new Gauge({ name, help, labelNames: ['source'], registers: [registry] });
      for (const one of gauges.sources) {
        const value = one[key];
        if (value !== null) gauge.set({ source: one.source }, value);
      }
    }
  }
  return registry.metrics();
}
