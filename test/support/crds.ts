import { z } from 'zod';

/**
 * The fields that resources/kubernetes/cells uses, each named after its field in the CustomResourceDefinition. They were
 * copied by hand from CloudNativePG 1.30.0, its Barman Cloud plugin 0.14.0, the Gateway API 1.6.1 (standard channel) and
 * the Prometheus operator 0.93.0. Kubernetes drops or refuses a field that its definition lacks, so these are strict.
 * No npm package has these definitions as JSON Schema (28 November 2026).
 */
const reference = z.strictObject({ name: z.string() });
const keyOf = z.strictObject({ name: z.string(), key: z.string() });
const quantity = z.string().regex(/^\d+[GM]i$/);
const metadata = z.strictObject({ name: z.string(), namespace: z.string().optional() });
const kind = <Name extends string, Spec extends z.ZodType>(apiVersion: string, name: Name, spec: Spec) =>
  z.strictObject({ apiVersion: z.literal(apiVersion), kind: z.literal(name), metadata, spec });

export const Cluster = kind(
  'postgresql.cnpg.io/v1',
  'Cluster',
  z.strictObject({
    instances: z.int().min(1),
    imageCatalogRef: z.strictObject({
      apiGroup: z.literal('postgresql.cnpg.io'),
      kind: z.enum(['ImageCatalog', 'ClusterImageCatalog']),
      name: z.string(),
      major: z.int(),
    }),
    primaryUpdateMethod: z.enum(['switchover', 'restart']),
    smartShutdownTimeout: z.int(),
    affinity: z.strictObject({ podAntiAffinityType: z.enum(['required', 'preferred']), topologyKey: z.string() }),
    storage: z.strictObject({ size: quantity }),
    walStorage: z.strictObject({ size: quantity }),
    resources: z.strictObject({
      requests: z.strictObject({ cpu: z.string(), memory: quantity }),
      limits: z.strictObject({ memory: quantity }),
    }),
    bootstrap: z.strictObject({
      initdb: z.strictObject({
        database: z.string(),
        owner: z.string(),
        dataChecksums: z.boolean(),
        encoding: z.string(),
        localeProvider: z.string(),
        builtinLocale: z.string(),
        localeCollate: z.string(),
        localeCType: z.string(),
        postInitApplicationSQL: z.array(z.string()),
      }),
    }),
    postgresql: z.strictObject({
      synchronous: z.strictObject({
        method: z.enum(['any', 'first']),
        number: z.int().min(1),
        dataDurability: z.enum(['required', 'preferred']),
        failoverQuorum: z.boolean(),
      }),
      parameters: z.record(z.string(), z.string()),
    }),
    plugins: z.array(
      z.strictObject({
        name: z.string(),
        isWALArchiver: z.boolean(),
        parameters: z.record(z.string(), z.string()),
      }),
    ),
  }),
);

export const Pooler = kind(
  'postgresql.cnpg.io/v1',
  'Pooler',
  z.strictObject({
    cluster: reference,
    instances: z.int(),
    type: z.enum(['rw', 'ro', 'r']),
    pgbouncer: z.strictObject({
      poolMode: z.enum(['session', 'transaction']),
      parameters: z.record(z.string(), z.string()),
    }),
  }),
);

export const ScheduledBackup = kind(
  'postgresql.cnpg.io/v1',
  'ScheduledBackup',
  z.strictObject({
    // Six fields, seconds first.
    schedule: z.string().regex(/^\S+( \S+){5}$/),
    immediate: z.boolean(),
    backupOwnerReference: z.enum(['none', 'self', 'cluster']),
    cluster: reference,
    method: z.enum(['barmanObjectStore', 'volumeSnapshot', 'plugin']),
    pluginConfiguration: z.strictObject({ name: z.string() }),
  }),
);

export const ObjectStore = kind(
  'barmancloud.cnpg.io/v1',
  'ObjectStore',
  z.strictObject({
    retentionPolicy: z.string().regex(/^[1-9][0-9]*[dwm]$/),
    configuration: z.strictObject({
      destinationPath: z.string(),
      endpointURL: z.url(),
      s3Credentials: z.strictObject({ accessKeyId: keyOf, secretAccessKey: keyOf }),
      wal: z.strictObject({ compression: z.enum(['bzip2', 'gzip', 'lz4', 'snappy', 'xz', 'zstd']) }),
      data: z.strictObject({ compression: z.enum(['bzip2', 'gzip', 'lz4', 'snappy']) }),
    }),
  }),
);

export const PodMonitor = kind(
  'monitoring.coreos.com/v1',
  'PodMonitor',
  z.strictObject({
    jobLabel: z.string().optional(),
    selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
    podMetricsEndpoints: z.array(
      z.strictObject({
        port: z.string(),
        path: z.string().optional(),
        relabelings: z
          .array(
            z.strictObject({ sourceLabels: z.array(z.string()), regex: z.string(), action: z.enum(['keep', 'drop']) }),
          )
          .optional(),
      }),
    ),
  }),
);

export const ReferenceGrant = kind(
  'gateway.networking.k8s.io/v1beta1',
  'ReferenceGrant',
  z.strictObject({
    from: z.array(z.strictObject({ group: z.string(), kind: z.string(), namespace: z.string() })),
    to: z.array(z.strictObject({ group: z.string(), kind: z.string(), name: z.string().optional() })),
  }),
);

const FrontGateway = kind(
  'gateway.networking.k8s.io/v1',
  'Gateway',
  z.strictObject({
    gatewayClassName: z.string(),
    listeners: z.array(
      z.strictObject({
        name: z.string(),
        protocol: z.literal('HTTPS'),
        port: z.int(),
        hostname: z.string(),
        tls: z.strictObject({ certificateRefs: z.array(reference) }),
        allowedRoutes: z.strictObject({
          namespaces: z.strictObject({ from: z.enum(['All', 'Selector', 'Same', 'None']) }),
        }),
      }),
    ),
  }),
);

export const HTTPRoute = kind(
  'gateway.networking.k8s.io/v1',
  'HTTPRoute',
  z.strictObject({
    parentRefs: z.array(reference),
    hostnames: z.array(z.string()),
    rules: z.array(
      z.strictObject({
        filters: z.array(
          z.strictObject({
            type: z.literal('RequestHeaderModifier'),
            requestHeaderModifier: z.strictObject({ remove: z.array(z.string()) }),
          }),
        ),
        backendRefs: z.array(z.strictObject({ name: z.string(), namespace: z.string(), port: z.int() })),
        timeouts: z.strictObject({ request: z.string().regex(/^\d+m?s$/) }),
      }),
    ),
  }),
);

export const CustomResource = z.discriminatedUnion('kind', [
  Cluster,
  Pooler,
  ScheduledBackup,
  ObjectStore,
  PodMonitor,
  ReferenceGrant,
  FrontGateway,
  HTTPRoute,
]);
