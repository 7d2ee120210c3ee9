import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { EXPECTED } from '../../src/config/allowed-values.ts';
import { readConfig } from '../../src/config/config.ts';
import { packageRoot } from '../../src/config/package.ts';
import { FAILURE_CODES, statusOf } from '../../src/core/failures.ts';
import { openMetrics } from '../../src/observe/metrics.ts';
import { MOST } from '../../src/sources/follow/runner.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { environmentOf, exec, fileOf, readDockerfile, stepOf } from '../support/deploy.ts';
import { hasKubectl, kustomized } from '../support/kustomize.ts';
import { readScrape } from '../support/observe.ts';
import { groupings, metricsOf, missingIn, rulesOf, unknownIn } from '../support/promql.ts';
import { READER } from '../support/reader/memory.ts';
import { type Replica, startReplica } from '../support/replica.ts';

const image = readDockerfile().at(-1);
const yaml = (path: string): unknown => parse(fileOf(`resources/${path}`), { merge: true });

let database: TestDatabase;
let gateway: Replica;
/** The names of all metrics of a gateway with workers and a replica, each with the labels of its series. */
const known = new Map<string, Set<string>>();

beforeAll(async () => {
  database = await freshDatabase('demo');
  const { host, port, name } = database;
  const databaseUrl = `postgres://postgres@${encodeURIComponent(host)}:${port}/${name}`;
  // A source with a value of each gauge. It is paused, so that no gateway reads it.
  await database.sql`INSERT INTO gateway.source (id, tenant, kind, account, mode, period, time_zone, address, paused, loaded, lag_seconds,
      behind, seen_at, last_success_at)
    VALUES ('src_' || repeat('a', 32), 1, 'chatwoot', '1', 'live', 15, 'UTC', 'x', true, true, 0, 0, now(), now())`;
  gateway = await startReplica({ databaseUrl, args: ['--workers', '2', '--no-demo'] });
  await fetch(`${gateway.url}/livez`);
  const held = { connections: 0, requests: 0, waiting: 0, unread: 0, refused: 0, untrusted: 0 };
  const alone = openMetrics({
    ...{
      version: '1',
      pools: [],
      sockets: () => 0,
      streams: () => 0,
      held: () => held,
      quotaRefusals: () => 0,
      audit: { lostTotal: 0, queued: 0 },
      loopHeld: () => 0,
      replica: () => true,
    },
  });
  const scraped = await (await fetch(`${gateway.url}/metrics`)).text();
  for (const { name, labels } of [...readScrape(scraped), ...readScrape(await alone.text())]) {
    const found = known.get(name) ?? new Set();
    for (const label of Object.keys(labels)) found.add(label);
    known.set(name, found);
  }
});
afterAll(async () => {
  await gateway.end();
  await database.close();
});

const Probe = z.strictObject({
  httpGet: z.strictObject({ path: z.enum(['/livez', '/readyz']), port: z.literal('http') }),
  periodSeconds: z.number(),
  timeoutSeconds: z.number().optional(),
  failureThreshold: z.number(),
});
const Reference = z.strictObject({ name: z.string() });
const container = {
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()),
  envFrom: z.array(z.union([z.strictObject({ configMapRef: Reference }), z.strictObject({ secretRef: Reference })])),
  resources: z.strictObject({
    requests: z.strictObject({ cpu: z.string(), memory: z.string() }),
    limits: z.strictObject({ memory: z.string() }),
  }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
};
const Deployment = z.object({
  spec: z.object({
    replicas: z.number(),
    progressDeadlineSeconds: z.number(),
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.strictObject({
        automountServiceAccountToken: z.literal(false),
        enableServiceLinks: z.literal(false),
        securityContext: z.strictObject({
          runAsNonRoot: z.literal(true),
          runAsUser: z.number(),
          runAsGroup: z.number(),
          seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
        }),
        topologySpreadConstraints: z.array(
          z.object({ labelSelector: z.object({ matchLabels: z.record(z.string(), z.string()) }) }),
        ),
        terminationGracePeriodSeconds: z.number(),
        initContainers: z.tuple([z.strictObject(container)]),
        containers: z.tuple([
          z.strictObject({
            ...container,
            ports: z.tuple([z.strictObject({ name: z.literal('http'), containerPort: z.number() })]),
            startupProbe: Probe,
            livenessProbe: Probe,
            readinessProbe: Probe,
            lifecycle: z.strictObject({
              preStop: z.strictObject({ exec: z.strictObject({ command: z.array(z.string()) }) }),
            }),
          }),
        ]),
      }),
    }),
  }),
});

describe('resources/kubernetes', () => {
  const { spec } = Deployment.parse(yaml('kubernetes/base/deployment.yaml'));
  const pod = spec.template.spec;
  const [main] = pod.containers;
  const [before] = pod.initContainers;

  it('runs the image as its user, with commands and a port that the image has', () => {
    expect(`${pod.securityContext.runAsUser}:${pod.securityContext.runAsGroup}`).toBe(stepOf(image, 'USER'));
    expect(String(main.ports[0].containerPort)).toBe(stepOf(image, 'EXPOSE'));
    expect(environmentOf(image)['HOST']).toBe('0.0.0.0');
    expect([before.args, main.args]).toEqual([['migrate'], ['serve', '--no-demo']]);
    expect(exec(stepOf(image, 'CMD'))[0]).toBe(main.args[0]);
    expect(spec.replicas).toBeGreaterThan(1);
    // The init container builds indexes, which can take hours.
    expect(spec.progressDeadlineSeconds).toBe(86_400);
    // A gateway ends within 10 s of SIGTERM, after the hook.
    const [, seconds] = main.lifecycle.preStop.exec.command;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + 10);
  });

  it('has room for eight sources that wait, and for eight that hostile helpdesks fill', () => {
    const { requests, limits } = main.resources;
    const mib = (text: string): number => Number.parseInt(text, 10) * (text.endsWith('Gi') ? 1_024 : 1);
    expect([mib('512Mi'), mib('2Gi')]).toEqual([512, 2_048]);
    expect(mib(requests.memory)).toBeGreaterThanOrEqual(MOST * READER.waiting + 192);
    expect(mib(limits.memory)).toBeGreaterThanOrEqual(MOST * READER.full + 448);
  });

  it('asks for probes that the gateway answers, under any Host header', async () => {
    const probes = [main.startupProbe, main.livenessProbe, main.readinessProbe].map(({ httpGet }) => httpGet.path);
    expect(probes).toEqual(['/livez', '/livez', '/readyz']);
    for (const path of probes) {
      const status = await new Promise((resolve, reject) => {
        // The kubelet sends the address of the pod.
        request(`${gateway.url}${path}`, { headers: { host: '10.244.1.7:8420', 'user-agent': 'kube-probe/1.34' } })
          .on('response', (answer) => resolve(answer.resume().statusCode))
          .on('error', reject)
          .end();
      });
      expect(status, path).toBe(200);
    }
  });

  it('selects its own pods only', () => {
    const { labels } = spec.template.metadata;
    const service = z.object({ spec: z.object({ selector: z.unknown(), ports: z.array(z.unknown()) }) });
    const budget = z.object({
      spec: z.strictObject({
        minAvailable: z.literal(1),
        unhealthyPodEvictionPolicy: z.literal('AlwaysAllow'),
        selector: z.unknown(),
      }),
    });
    expect(spec.selector.matchLabels).toEqual(labels);
    expect(pod.topologySpreadConstraints.map(({ labelSelector }) => labelSelector.matchLabels)).toEqual([labels]);
    const { spec: served } = service.parse(yaml('kubernetes/base/service.yaml'));
    expect(served.selector).toEqual(labels);
    expect(served.ports).toEqual([{ name: 'http', port: 80, targetPort: main.ports[0].name }]);
    const { spec: kept } = budget.parse(yaml('kubernetes/base/disruption-budget.yaml'));
    expect(kept.selector).toEqual({ matchLabels: labels });
    const { spec: reached } = z
      .strictObject({
        apiVersion: z.literal('networking.k8s.io/v1'),
        kind: z.literal('NetworkPolicy'),
        metadata: z.unknown(),
        spec: z.unknown(),
      })
      .parse(yaml('kubernetes/example/network-policy.yaml'));
    const space = (name: string) => ({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } });
    expect(reached).toEqual({
      podSelector: { matchLabels: labels },
      policyTypes: ['Ingress'],
      ingress: [{ from: [space('ingress-nginx'), space('monitoring')], ports: [{ port: main.ports[0].name }] }],
    });
    // docs/kubernetes.md makes the namespace of Prometheus, and ingress.yaml speaks of the controller's.
    expect(fileOf('docs/kubernetes.md')).toContain('kubectl create namespace monitoring\n');
    expect(fileOf('resources/kubernetes/example/ingress.yaml')).toContain('ingress-nginx/gateway-headers');
  });

  it('names every file, and settings that exist and are accepted', () => {
    const Example = z.object({
      resources: z.array(z.string()),
      configMapGenerator: z.tuple([z.object({ name: z.string(), literals: z.array(z.string()) })]),
      secretGenerator: z.tuple([z.object({ name: z.string(), envs: z.array(z.string()) })]),
    });
    const { resources } = z
      .object({ resources: z.array(z.string()) })
      .parse(yaml('kubernetes/base/kustomization.yaml'));
    const example = Example.parse(yaml('kubernetes/example/kustomization.yaml'));
    const files = (folder: string): string[] =>
      readdirSync(new URL(`resources/kubernetes/${folder}`, packageRoot)).filter((one) => one !== 'kustomization.yaml');
    expect(resources.toSorted()).toEqual(files('base').toSorted());
    expect(example.resources.filter((one) => one !== '../base').toSorted()).toEqual(files('example').toSorted());
    const [{ name: map, literals }] = example.configMapGenerator;
    const [{ name: secret, envs }] = example.secretGenerator;
    for (const one of [main, before]) {
      expect(one.envFrom).toEqual([{ configMapRef: { name: map } }, { secretRef: { name: secret } }]);
    }
    // Git ignores the file with the secrets.
    expect(fileOf('.gitignore').split('\n')).toEqual(expect.arrayContaining(envs));
    const given = Object.fromEntries(literals.map((one) => [one.replace(/=.*/, ''), one.replace(/^[^=]*=/, '')]));
    expect(Object.keys(given).filter((name) => !(name in EXPECTED))).toEqual([]);
    const { NODE_ENV: _, ...shipped } = environmentOf(image);
    expect(readConfig({ ...shipped, ...given }).baseUrl).toBe('https://gateway.example');
  });

  it('has the version of the package', () => {
    const { version } = JSON.parse(fileOf('package.json'));
    for (const folder of ['base', 'example']) {
      const { images } = z
        .object({ images: z.array(z.object({ name: z.literal('installation-gateway'), newTag: z.string() })) })
        .parse(yaml(`kubernetes/${folder}/kustomization.yaml`));
      expect(images.map(({ newTag }) => newTag)).toEqual([version]);
    }
    expect([main.image, before.image]).toEqual(Array(2).fill('installation-gateway'));
  });

  it.runIf(hasKubectl)('is what kustomize accepts', () => {
    const made = kustomized('example', { 'example/gateway.env': 'DATABASE_URL=postgres://db/gateway\n' });
    expect(made).toHaveLength(8);
  });
});

/** Prometheus adds these labels to every series of a target. */
const TARGET = ['instance', 'job'];

describe('resources/monitoring', () => {
  const rules = rulesOf('resources/monitoring/alerts.yaml');
  const Dashboard = z.object({
    uid: z.string(),
    panels: z.array(
      z.object({
        id: z.number(),
        type: z.enum(['row', 'timeseries']),
        title: z.string(),
        gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
        targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).default([]),
      }),
    ),
  });
  const { panels } = Dashboard.parse(JSON.parse(fileOf('resources/monitoring/dashboard.json')));
  const shown = panels.flatMap(({ targets }) => targets);

  it('a misspelt metric and a label that a metric does not have are found', () => {
    const wrong = 'sum by (pool, outcome) (rate(gateway_requests_total{surface="x", pool="y"}[5m]))';
    expect(unknownIn(wrong, known, TARGET)).toEqual(['gateway_requests_total{pool}', 'pool']);
    expect(unknownIn('gateway_store_upp == 0', known, TARGET)).toEqual(['gateway_store_upp']);
    expect(known.size).toBeGreaterThan(40);
  });

  it('alerts name metrics and labels that exist, and the outcomes that are failures of ours', () => {
    expect(rules.length).toBeGreaterThan(8);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const rule of rules) {
      expect(unknownIn(rule.expr, known, TARGET), rule.alert).toEqual([]);
      expect(missingIn(rule, TARGET), rule.alert).toEqual([]);
    }
    const outcomes = /outcome=~"([^"]+)"/.exec(rules.find(({ alert }) => alert === 'GatewayFailures')?.expr ?? '')?.[1];
    expect(fileOf('docs/operations.md')).toContain(`outcome=~"${outcomes}"`);
    expect(
      outcomes?.split('|').filter((one) => FAILURE_CODES.some((code) => code === one && statusOf(code) < 500)),
    ).toEqual([]);
  });

  it('the dashboard names metrics and labels that exist, and shows each metric of the gateway', () => {
    expect(shown.length).toBeGreaterThan(25);
    for (const { expr, legendFormat } of shown) {
      expect(unknownIn(expr, known, TARGET), expr).toEqual([]);
      expect(
        metricsOf(expr).every(({ labels }) => labels.includes('instance')),
        expr,
      ).toBe(true);
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        expect(groupings(expr), expr).toContain(label);
    }
    const names = new Set(shown.flatMap(({ expr }) => metricsOf(expr)).map(({ name }) => name));
    const ours = [...known.keys()].filter((name) => /^gateway_/.test(name) && !/_(sum|count)$/.test(name));
    expect(ours.filter((name) => !names.has(name))).toEqual([]);
  });

  it('no two panels of the dashboard overlap', () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});
