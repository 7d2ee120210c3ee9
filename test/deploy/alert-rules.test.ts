import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import { rulesOf } from '../support/promql.ts';
import { scratch } from '../support/scratch.ts';

/**
 * Evaluates alert rules with promtool, which Debian's package `prometheus` brings. Where it is not installed, only the
 * names of the alerts are compared.
 */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const FILES = ['alerts', 'cloudnativepg'].map((name) => `resources/monitoring/${name}.yaml`);
const rules = FILES.flatMap(rulesOf);
const paths = FILES.map((path) => fileURLToPath(new URL(path, packageRoot)));

interface Case {
  readonly alert: string;
  readonly when: string;
  /** Series with their values at each minute, as promtool writes them: `1x20` is 1 at twenty-one minutes. */
  readonly series: Readonly<Record<string, string>>;
  readonly minute: number;
  readonly firing: number;
}
const UP = 'up{job="installation-gateway", instance="a"}';
const REPLICA = 'gateway_replica_current{job="installation-gateway", instance="a"}';
const volume = (claim: string, free: number): Record<string, string> =>
  Object.fromEntries(
    [
      ['available', free],
      ['capacity', 100],
    ].map(([what, bytes]) => [
      `kubelet_volume_stats_${what}_bytes{namespace="gateway-cell-1", persistentvolumeclaim="${claim}"}`,
      `${bytes}x20`,
    ]),
  );
const CASES: readonly Case[] = [
  { alert: 'GatewayDown', when: 'all answer', series: { [UP]: '1x20' }, minute: 20, firing: 0 },
  { alert: 'GatewayDown', when: 'one does not answer', series: { [UP]: '1x9 0x10' }, minute: 12, firing: 1 },
  { alert: 'GatewayDown', when: 'there is no target', series: { 'up{job="other"}': '1x20' }, minute: 2, firing: 1 },
  { alert: 'GatewayDown', when: 'the last target goes', series: { [UP]: '1x9 stale' }, minute: 12, firing: 1 },
  { alert: 'GatewayReplicaBehind', when: 'it is behind for nine', series: { [REPLICA]: '0x20' }, minute: 9, firing: 0 },
  { alert: 'GatewayReplicaBehind', when: 'it is behind for ten', series: { [REPLICA]: '0x20' }, minute: 10, firing: 1 },
  { alert: 'GatewayReplicaBehind', when: 'it is back', series: { [REPLICA]: '0x6 1x20' }, minute: 20, firing: 0 },
  ...[
    { when: 'nothing is queued', values: '0+50x20', minute: 14, firing: 1 },
    { when: 'it is so for nine minutes', values: '101x20', minute: 9, firing: 0 },
    { when: 'a hundred wait', values: '100x20', minute: 20, firing: 0 },
    { when: 'a wave of receipts is queued', values: '5000x5 0x20', minute: 20, firing: 0 },
  ].map(({ values, ...one }) => ({
    ...one,
    alert: 'GatewayWebhooksUnqueued',
    series: { 'gateway_webhook_receipts_behind{instance="a"}': values },
  })),
  ...[
    { when: 'the first load fails', values: '1x20', minute: 15, firing: 1 },
    { when: 'it fails for fourteen minutes', values: '1x20', minute: 14, firing: 0 },
    { when: 'none fails', values: '0x20', minute: 20, firing: 0 },
  ].map(({ values, ...one }) => ({
    ...one,
    alert: 'GatewaySourceFails',
    series: { 'gateway_sources_failing{instance="a"}': values },
  })),
  ...[
    { when: '14 % are free', claim: 'gateway-db-1', free: 14, firing: 1 },
    { when: '15 % are free', claim: 'gateway-db-1', free: 15, firing: 0 },
    { when: '14 % are free after a restore', claim: 'gateway-db-2-1', free: 14, firing: 1 },
    { when: 'it is the volume of WAL', claim: 'gateway-db-1-wal', free: 14, firing: 0 },
    { when: 'it is the volume of somebody else', claim: 'data-redis-0', free: 1, firing: 0 },
  ].map(({ claim, free, ...one }) => ({
    ...one,
    alert: 'PostgresDataDiskFull',
    series: volume(claim, free),
    minute: 10,
  })),
];

const inputOf = ({ alert, when, series }: Case) => ({
  name: `${alert}: ${when}`,
  interval: '1m',
  input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
});
const countOf = (one: Case) => ({
  ...inputOf(one),
  promql_expr_test: [
    {
      expr: `count(ALERTS{alertname="${one.alert}", alertstate="firing"})`,
      eval_time: `${one.minute}m`,
      exp_samples: one.firing === 0 ? [] : [{ labels: '{}', value: one.firing }],
    },
  ],
});

/** The exit code of promtool, and what it has written. */
function evaluated(tests: readonly unknown[]): { status: number | null; text: string } {
  const folder = scratch('alerts');
  try {
    const file = join(folder, 'tests.json'); // promtool reads YAML, and JSON is YAML
    writeFileSync(file, JSON.stringify({ rule_files: paths, evaluation_interval: '1m', tests }));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
    return { status, text: stdout + stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('alert rules', () => {
  it('the cases name rules that exist, each seen to fire and to be silent', () => {
    const names = rules.map(({ alert }) => alert);
    for (const alert of new Set(CASES.map((one) => one.alert))) {
      expect(names).toContain(alert);
      const firing = CASES.filter((one) => one.alert === alert).map((one) => one.firing);
      expect(new Set(firing), alert).toEqual(new Set([0, 1]));
    }
  });

  it.runIf(hasPromtool)('fire when they should, and only then', () => {
    const { status, text } = evaluated(CASES.map(countOf));
    expect(status, text).toBe(0);
    for (const one of CASES)
      expect(evaluated([countOf({ ...one, firing: 1 - one.firing })]).status, `${one.alert}: ${one.when}`).toBe(1);
  });

  it.runIf(hasPromtool)('name the gateway that does not answer, or none', () => {
    const description = rules.find(({ alert }) => alert === 'GatewayDown')?.annotations.description;
    const tests = CASES.filter(({ alert, firing }) => alert === 'GatewayDown' && firing === 1).map((one) => {
      const instance = one.when === 'one does not answer' ? 'a' : undefined;
      const alert = {
        exp_labels: { job: 'installation-gateway', severity: 'page', ...(instance && { instance }) },
        exp_annotations: {
          summary: instance ? `${instance} does not answer /metrics.` : 'No gateway answers /metrics.',
          description,
        },
      };
      return {
        ...inputOf(one),
        alert_rule_test: [{ eval_time: `${one.minute}m`, alertname: one.alert, exp_alerts: [alert] }],
      };
    });
    expect(tests).toHaveLength(3);
    const { status, text } = evaluated(tests);
    expect(status, text).toBe(0);
  });
});
