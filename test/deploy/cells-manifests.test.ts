import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { EXPECTED } from '../../src/config/allowed-values.ts';
import { readConfig } from '../../src/config/config.ts';
import { packageRoot } from '../../src/config/package.ts';
import {
  Cluster,
  CustomResource,
  HTTPRoute,
  ObjectStore,
  PodMonitor,
  Pooler,
  ReferenceGrant,
  ScheduledBackup,
} from '../support/crds.ts';
import { environmentOf, fileOf, readDockerfile } from '../support/deploy.ts';
import { documentsOf, hasKubectl, kustomized } from '../support/kustomize.ts';
import { type Metrics, missingIn, rulesOf, unknownIn } from '../support/promql.ts';

const ROOT = 'resources/kubernetes/cells';
const GROUPS = /^(postgresql|barmancloud)\.cnpg\.io\/|^monitoring\.coreos\.com\/|^gateway\.networking\.k8s\.io\//;
const KEYS = {
  'cells/keys/gateway.env': `GATEWAY_KEYS=1:${Buffer.alloc(32, 1).toString('base64')}\n`,
  'cells/keys/backup.env': 'ACCESS_KEY_ID=id\nACCESS_SECRET_KEY=hush\n',
};

const Head = z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: z.looseObject({ name: z.string() }) });
const headOf = (document: unknown): z.infer<typeof Head> => Head.parse(document);
const isCustom = (document: unknown): boolean => GROUPS.test(headOf(document).apiVersion);

const paths = readdirSync(new URL(ROOT, packageRoot), { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.yaml'),
);
const files = paths.filter((path) => !path.endsWith('kustomization.yaml'));
const documents = files.flatMap((path) => documentsOf(fileOf(`${ROOT}/${path}`)));
const ofKind = <Type extends z.ZodType>(type: Type, name: string, all: readonly unknown[] = documents) =>
  all.filter((one) => headOf(one).kind === name).map((one) => type.parse(one));
const only = <T>(all: readonly T[]): T => {
  expect(all).toHaveLength(1);
  return all[0] ?? expect.fail('nothing');
};

const Kustomization = z.looseObject({
  namespace: z.string().optional(),
  resources: z.array(z.string()).default([]),
  components: z.array(z.string()).default([]),
  patches: z.array(z.looseObject({ path: z.string().optional(), patch: z.string().optional() })).default([]),
  configMapGenerator: z.array(z.object({ name: z.string(), literals: z.array(z.string()) })).default([]),
  secretGenerator: z.array(z.looseObject({ name: z.string(), envs: z.array(z.string()) })).default([]),
  images: z.array(z.object({ name: z.string(), newName: z.string(), newTag: z.string() })).default([]),
});
const kustomization = (folder: string) => Kustomization.parse(parse(fileOf(`${ROOT}/${folder}/kustomization.yaml`)));
const CELLS = ['cell-1', 'cell-2'];
const literalsOf = (cell: string): Record<string, string> =>
  Object.fromEntries(
    only(kustomization(cell).configMapGenerator).literals.map((one) => [
      one.replace(/=.*/, ''),
      one.replace(/^[^=]*=/, ''),
    ]),
  );

const Variable = z.strictObject({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z
    .union([
      z.strictObject({ secretKeyRef: z.strictObject({ name: z.string(), key: z.string() }) }),
      z.strictObject({ fieldRef: z.strictObject({ fieldPath: z.literal('metadata.namespace') }) }),
    ])
    .optional(),
});
const WithEnv = z.looseObject({ name: z.string(), env: z.array(Variable).default([]) });
const Deployment = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({ initContainers: z.array(WithEnv), containers: z.array(WithEnv).default([]) }),
    }),
  }),
});
const containersOf = (document: unknown): z.infer<typeof WithEnv>[] => {
  const { initContainers, containers } = Deployment.parse(document).spec.template.spec;
  return [...initContainers, ...containers];
};
/** Values as Kubernetes makes them: only a variable that stands earlier in the list is put in. */
const expanded = (env: readonly z.infer<typeof Variable>[]): Record<string, string> => {
  const made: Record<string, string> = {};
  for (const { name, value, valueFrom = {} } of env)
    made[name] = (value ?? ('fieldRef' in valueFrom ? 'cell' : 'hush')).replace(
      /\$\((\w+)\)/g,
      (all, word: string) => made[word] ?? all,
    );
  return made;
};
const { NODE_ENV: _, ...image } = environmentOf(readDockerfile().at(-1));
const shipped = { ...image, GATEWAY_BASE_URL: 'https://gateway.example' };
const storeOf = (url: string | undefined): string => {
  const { username, password, host, pathname, search } = new URL(url ?? '');
  return `${username}:${password} ${host}${pathname}${search}`;
};

const cluster = only(ofKind(Cluster, 'Cluster'));
const { initdb } = cluster.spec.bootstrap;
const envOf = (path: string): Record<string, string> => {
  const all = containersOf(only(documentsOf(fileOf(`${ROOT}/${path}`)))).map(({ env }) => env);
  expect(all).toHaveLength(2);
  expect(all[1]).toEqual(all[0]);
  return expanded(all[0] ?? []);
};

describe('resources/kubernetes/cells', () => {
  it('has only fields that the definitions of the custom resources have', () => {
    const custom = documents.filter(isCustom);
    expect(custom.length).toBeGreaterThan(10);
    for (const one of custom) expect(CustomResource.safeParse(one).error?.issues ?? [], headOf(one).kind).toEqual([]);
    const kinds = new Set(custom.map((one) => headOf(one).kind));
    expect(kinds.size).toBe(CustomResource.options.length);
  });

  it('a misspelt field, a wrong value and a wrong type are found', () => {
    const planted: [kind: string, right: string, wrong: string][] = [
      ['Cluster', 'dataDurability', 'dataDurabilty'],
      ['Cluster', 'failoverQuorum', 'failOverQuorum'],
      ['Cluster', '"max_connections":"200"', '"max_connections":200'],
      ['Cluster', '"dataDurability":"required"', '"dataDurability":"strict"'],
      ['ScheduledBackup', '0 0 2 * * *', '0 2 * * *'],
      ['ObjectStore', '30d', '30 days'],
      ['PodMonitor', 'podMetricsEndpoints', 'podMetricEndpoints'],
      ['PodMonitor', 'sourceLabels', 'source_labels'],
      ['Pooler', '"poolMode":"transaction"', '"poolMode":"statement"'],
      ['HTTPRoute', '"namespace"', '"nameSpace"'],
      ['HTTPRoute', '"RequestHeaderModifier"', '"RequestHeaderModifiers"'],
      ['ReferenceGrant', '/v1beta1', '/v1alpha1'],
      ['Gateway', 'gatewayClassName', 'gatewayClass'],
    ];
    for (const [kind, right, wrong] of planted) {
      const text = JSON.stringify(documents.find((one) => headOf(one).kind === kind && isCustom(one)));
      expect(text, kind).toContain(right);
      expect(CustomResource.safeParse(JSON.parse(text.replace(right, wrong))).success, `${kind}: ${wrong}`).toBe(false);
    }
  });

  it('replicates so that no acknowledged write is lost, across zones, and keeps less WAL than its disk holds', () => {
    const { spec } = cluster;
    expect(spec).toMatchObject({
      instances: 3,
      primaryUpdateMethod: 'switchover',
      affinity: { podAntiAffinityType: 'required', topologyKey: 'topology.kubernetes.io/zone' },
      postgresql: { synchronous: { method: 'any', number: 1, dataDurability: 'required', failoverQuorum: true } },
    });
    const { parameters } = spec.postgresql;
    expect(parameters).toMatchObject({ wal_level: 'logical', wal_retrieve_retry_interval: '500ms' });
    expect(Number.parseInt(parameters['max_slot_wal_keep_size'] ?? '', 10)).toBeLessThan(
      Number.parseInt(spec.walStorage.size, 10),
    );
    // The catalog has PostgreSQL 14 to 18, and the gateway needs 15. A subscription without a superuser needs 16.
    expect(spec.imageCatalogRef.major).toBeGreaterThanOrEqual(16);
  });

  it('the gateways take their addresses from the cluster, and read reports from its standbys', () => {
    const given = envOf('base/gateway.yaml');
    const { name } = cluster.metadata;
    const config = readConfig({ ...shipped, ...given });
    expect(storeOf(config.databaseUrl)).toBe(
      `${initdb.owner}:hush ${name}-rw.cell:5432/${initdb.database}?sslmode=require`,
    );
    expect(storeOf(config.replicaUrl)).toBe(
      `${initdb.owner}:hush ${name}-ro.cell:5432/${initdb.database}?sslmode=require`,
    );
    const [before] = containersOf(only(documentsOf(fileOf(`${ROOT}/base/gateway.yaml`))));
    const refs = before?.env.flatMap(({ valueFrom }) =>
      valueFrom && 'secretKeyRef' in valueFrom ? valueFrom.secretKeyRef : [],
    );
    expect(refs).toEqual([{ name: `${name}-app`, key: 'password' }]);
    // Kubernetes adds such a variable for each Service of the namespace, unless the pod switches this off.
    const linked = `${name}-rw`.toUpperCase().replaceAll('-', '_');
    expect(() => readConfig({ ...shipped, [`${linked}_SERVICE_HOST`]: '10.0.0.1' })).toThrow(linked);
    expect(fileOf('resources/kubernetes/base/deployment.yaml')).toContain('enableServiceLinks: false');
  });

  it('behind the pooler, LISTEN and migrations go to the server, and the role has its limits', () => {
    const pooler = only(ofKind(Pooler, 'Pooler'));
    expect(pooler.spec).toMatchObject({
      cluster: { name: cluster.metadata.name },
      type: 'rw',
      pgbouncer: { poolMode: 'transaction' },
    });
    const direct = envOf('base/gateway.yaml')['DATABASE_URL'];
    const given = envOf('pooler/gateway.yaml');
    expect(given['DATABASE_DIRECT_URL']).toBe(direct);
    expect(given['DATABASE_URL']).toBe(direct?.replace(`${cluster.metadata.name}-rw`, pooler.metadata.name));
    const added = kustomization('pooler')
      .patches.map(({ patch = '' }) => patch)
      .join('');
    const told = fileOf('docs/operations.md').match(/ALTER ROLE gateway SET \w+_timeout = '\w+'/g) ?? [];
    expect(told).toHaveLength(2);
    for (const one of told) expect(added).toContain(`value: ${one}`);
  });

  it('backs up each cluster to a path of its own, with the Secret that the operator writes', () => {
    const store = only(ofKind(ObjectStore, 'ObjectStore'));
    const backup = only(ofKind(ScheduledBackup, 'ScheduledBackup'));
    const [plugin] = cluster.spec.plugins;
    expect(plugin).toMatchObject({ isWALArchiver: true, parameters: { barmanObjectName: store.metadata.name } });
    expect(backup.spec).toMatchObject({
      cluster: { name: cluster.metadata.name },
      method: 'plugin',
      pluginConfiguration: { name: plugin?.name },
    });
    const { s3Credentials } = store.spec.configuration;
    const made = kustomization('keys').secretGenerator.find(({ envs }) => envs.includes('backup.env'));
    for (const { name } of Object.values(s3Credentials)) expect(name).toBe(made?.name);
    const header = fileOf(`${ROOT}/keys/kustomization.yaml`);
    for (const { key } of Object.values(s3Credentials)) expect(header).toContain(`${key}=…`);
    const ways = CELLS.map((cell) => /value: (s3:\S+)/.exec(kustomization(cell).patches.at(-1)?.patch ?? '')?.[1]);
    expect(new Set(ways).size).toBe(CELLS.length);
  });

  it('git ignores the files with the secrets', () => {
    const ignored = fileOf('.gitignore').split('\n');
    for (const { envs } of kustomization('keys').secretGenerator) expect(ignored).toEqual(expect.arrayContaining(envs));
  });

  it('monitors the pods of the gateway under the job of the alerts, and those of PostgreSQL', () => {
    const monitors = ofKind(PodMonitor, 'PodMonitor');
    const [labels] = monitors.map(({ spec }) => spec.selector.matchLabels);
    const deployment = fileOf('resources/kubernetes/base/deployment.yaml');
    for (const [name, value] of Object.entries(labels ?? {})) expect(deployment).toContain(`${name}: ${value}`);
    const job = labels?.[monitors[0]?.spec.jobLabel ?? ''];
    expect(fileOf('resources/monitoring/alerts.yaml')).toContain(`up{job="${job}"}`);
    // Pods of the gateway that still migrate are no targets.
    expect(monitors[0]?.spec.podMetricsEndpoints.map(({ relabelings }) => relabelings)).toEqual([
      [{ sourceLabels: ['__meta_kubernetes_pod_phase'], regex: 'Pending', action: 'drop' }],
    ]);
    expect(monitors[1]?.spec.selector.matchLabels).toEqual({ 'cnpg.io/cluster': cluster.metadata.name });
  });

  it('names every file, has the version of the package, and only a cell is applied', () => {
    const { version } = JSON.parse(fileOf('package.json'));
    for (const folder of ['base', 'front', 'pooler', 'cell-2']) {
      const { resources, patches } = kustomization(folder);
      const named = [...resources.filter((one) => one.endsWith('.yaml')), ...patches.flatMap(({ path }) => path ?? [])];
      expect(named.toSorted(), folder).toEqual(
        files.flatMap((path) => (path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : [])).toSorted(),
      );
    }
    expect(kustomization('base').images.map(({ newTag }) => newTag)).toEqual([version]);
    for (const cell of CELLS) expect(kustomization(cell).resources).toEqual(['../base', '../keys']);
  });

  it('gives each cell a number and a base URL of its own, and leads its host there', () => {
    const routes = ofKind(HTTPRoute, 'HTTPRoute');
    const grant = only(ofKind(ReferenceGrant, 'ReferenceGrant'));
    expect(grant.spec.from.map(({ namespace }) => namespace)).toEqual([kustomization('front').namespace]);
    const leadsTo = (host: string): string[] =>
      routes
        .filter(({ spec }) => spec.hostnames.includes(host))
        .flatMap(({ spec }) => spec.rules.flatMap((rule) => rule.backendRefs))
        .map(({ name, namespace, port }) => `${namespace}/${name}:${port}`);
    const numbers = CELLS.map((cell) => {
      const { GATEWAY_CELL: number, ...given } = literalsOf(cell);
      expect(Object.keys(given).filter((name) => !(name in EXPECTED))).toEqual([]);
      const { baseUrl } = readConfig({ ...shipped, ...envOf('base/gateway.yaml'), ...given });
      expect(leadsTo(new URL(baseUrl ?? '').hostname)).toEqual([
        `${kustomization(cell).namespace}/installation-gateway:80`,
      ]);
      expect(grant.spec.to).toEqual([{ group: '', kind: 'Service', name: 'installation-gateway' }]);
      expect(kustomization(cell).namespace).toBe(`gateway-cell-${number}`);
      return number;
    });
    expect(numbers).toEqual(['1', '2']);
    // The gateways trust these headers when they come from the proxy.
    for (const { spec } of routes)
      for (const { filters } of spec.rules)
        expect(filters.flatMap((one) => one.requestHeaderModifier.remove)).toEqual(['traceparent', 'tracestate']);
    // Every host is in the map once.
    const hosts = routes.flatMap(({ spec }) => spec.hostnames);
    expect(new Set(hosts).size).toBe(hosts.length);
    expect(hosts.length).toBeGreaterThan(CELLS.length);
  });

  describe.runIf(hasKubectl)('as kustomize builds it', () => {
    const WITH_POOLER = {
      ...KEYS,
      'cells/cell-2/kustomization.yaml': `${fileOf(`${ROOT}/cell-2/kustomization.yaml`)}components: [../pooler]\n`,
    };
    it.each([
      ['cells/cell-1', 13, KEYS],
      ['cells/cell-2', 13, KEYS],
      ['cells/cell-2', 14, WITH_POOLER],
      ['cells/front', 5, {}],
    ])('%s has %i objects, each in its namespace', (folder, count, given) => {
      const made = kustomized(folder, given);
      expect(made).toHaveLength(count);
      for (const one of made.filter(isCustom))
        expect(CustomResource.safeParse(one).error?.issues ?? [], headOf(one).kind).toEqual([]);
      const { namespace } = kustomization(folder.replace('cells/', ''));
      for (const one of made) {
        const { kind, metadata } = headOf(one);
        expect(kind === 'Namespace' ? metadata.name : metadata['namespace'], kind).toBe(namespace);
      }
    });

    it('has every Secret that a pod names, and every variable that a value names', () => {
      const made = kustomized('cells/cell-2', WITH_POOLER);
      const named = (kind: string): string[] =>
        made.filter((one) => headOf(one).kind === kind).map((one) => headOf(one).metadata.name);
      // CloudNativePG makes the first, the operator the second.
      const secrets = [...named('Secret'), `${cluster.metadata.name}-app`, 'first-cell'];
      const text = JSON.stringify(made.find((one) => headOf(one).kind === 'Deployment'));
      const wanted = [...text.matchAll(/"(?:secretKeyRef|secretRef)":\{(?:"key":"\w+",)?"name":"([^"]+)"/g)];
      expect(wanted.length).toBeGreaterThan(4);
      for (const [, name] of wanted) expect(secrets).toContain(name);
      expect(named('ConfigMap').every((name) => text.includes(`"configMapRef":{"name":"${name}"}`))).toBe(true);
      const all = containersOf(JSON.parse(text));
      expect(all.map(({ name }) => name)).toEqual(['migrate', 'gateway']);
      for (const { name, env } of all) {
        const values = expanded(env);
        expect(Object.values(values).join(), name).not.toContain('$(');
        expect(storeOf(values['DATABASE_URL'])).toContain(' gateway-pooler.cell:5432/');
      }
      const initdb = only(ofKind(Cluster, 'Cluster', made)).spec.bootstrap.initdb;
      expect(initdb.postInitApplicationSQL).toHaveLength(5);
    });
  });
});

describe('resources/monitoring/cloudnativepg.yaml', () => {
  /** Labels of the targets of a PodMonitor. */
  const TARGET = ['instance', 'job', 'namespace', 'pod'];
  /** From CloudNativePG 1.30.0 (config/manager/default-monitoring.yaml, its collector) and its Barman Cloud plugin 0.14.0. */
  const known: Metrics = new Map<string, ReadonlySet<string>>([
    ['cnpg_pg_replication_in_recovery', new Set()],
    ['cnpg_pg_replication_streaming_replicas', new Set()],
    ['cnpg_pg_replication_lag', new Set()],
    ['cnpg_pg_replication_slots_pg_wal_lsn_diff', new Set(['slot_name', 'slot_type', 'database'])],
    ['cnpg_pg_stat_archiver_last_failed_time', new Set()],
    ['cnpg_pg_stat_archiver_last_archived_time', new Set()],
    ['cnpg_collector_pg_wal', new Set(['value'])],
    ['barman_cloud_cloudnative_pg_io_last_available_backup_timestamp', new Set()],
    // From the kubelet (pkg/kubelet/metrics/collectors/volume_stats.go).
    ['kubelet_volume_stats_available_bytes', new Set(['persistentvolumeclaim'])],
    ['kubelet_volume_stats_capacity_bytes', new Set(['persistentvolumeclaim'])],
  ]);
  const rules = rulesOf('resources/monitoring/cloudnativepg.yaml');

  it('names metrics and labels that exist, and alerts of its own', () => {
    expect(rules.length).toBeGreaterThan(5);
    for (const rule of rules) {
      expect(unknownIn(rule.expr, known, TARGET), rule.alert).toEqual([]);
      expect(missingIn(rule, TARGET), rule.alert).toEqual([]);
    }
    expect(unknownIn('cnpg_pg_replication_lagg{slot="x"} > 1', known, TARGET)).toContain('cnpg_pg_replication_lagg');
    // docs/kubernetes.md tells what each rule means, and whom it wakes.
    for (const { alert, labels } of rules)
      expect(fileOf('docs/kubernetes.md')).toContain(`\n| \`${alert}\` | ${labels.severity} | `);
    const names = [...rules, ...rulesOf('resources/monitoring/alerts.yaml')].map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
  });
});
