import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { decoded } from '../core/decoded.ts';
import { EXPECTED } from './allowed-values.ts';
import { ConfigError } from './error.ts';
import { type Key, parseKeys } from './key-list.ts';
import { packageRoot } from './package.ts';
import {
  areClientHosts,
  areProxies,
  areSourceHosts,
  isBaseUrl,
  isCollector,
  isDatabase,
  isHost,
  isIssuer,
  isOrigin,
  isStore,
  listOf,
  mayBeFolder,
} from './values.ts';

/** Only this folder reads environment variables. This file and docs/configuration.md describe every setting. */
const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,5}$/)
    .transform(Number)
    .refine((n) => n >= least && n <= most);
const secondsOf = (time: string): number => Number.parseInt(time, 10) * (time.endsWith('h') ? 3_600 : 86_400);
const file = z.string().min(1);
const database = z.string().refine(isDatabase).optional();
const store = z.string().refine(isStore).optional();

const IDENTITY = ['GATEWAY_OIDC_ISSUER', 'GATEWAY_OIDC_CLIENT_ID', 'GATEWAY_OIDC_CLIENT_SECRET'] as const;

const Environment = z
  .object({
    PORT: whole(0, 65_535).default(8420),
    HOST: z.string().refine(isHost).default('127.0.0.1'),
    GATEWAY_BASE_URL: z.string().refine(isBaseUrl).optional(),
    DATABASE_URL: store,
    DATABASE_DIRECT_URL: store,
    DATABASE_REPLICA_URL: database,
    GATEWAY_DATA_DIR: z.string().refine(mayBeFolder).default('.data'),
    GATEWAY_TLS_CERT: file.optional(),
    GATEWAY_TLS_KEY: file.optional(),
    GATEWAY_DB_CONNECTIONS: whole(1, 200).default(8),
    GATEWAY_CELL: whole(1, 9_999).default(1),
    GATEWAY_OIDC_ISSUER: z.string().refine(isIssuer).optional(),
    GATEWAY_OIDC_CLIENT_ID: z.string().optional(),
    GATEWAY_OIDC_CLIENT_SECRET: z.string().optional(),
    GATEWAY_TRUSTED_PROXIES: z.string().refine(areProxies).optional(),
    GATEWAY_METRICS_ALLOW: z.string().refine(areProxies).optional(),
    OTEL_EXPORTER_OTLP_ENDPOINT: z.string().refine(isCollector).optional(),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: z.string().refine(isCollector).optional(),
    OTEL_EXPORTER_OTLP_PROTOCOL: z.string().optional(),
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: z.string().optional(),
    OTEL_TRACES_SAMPLER: z.string().optional(),
    OTEL_TRACES_SAMPLER_ARG: z.string().optional(),
    OTEL_RESOURCE_ATTRIBUTES: z.string().optional(),
    OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none']).default('otlp'),
    OTEL_SERVICE_NAME: z.string().max(200).default('installation-gateway'),
    OTEL_SDK_DISABLED: z
      .string()
      .regex(/^(true|false)$/i)
      .optional(),
    GATEWAY_KEYS: z
      .string()
      .refine((list) => parseKeys(list) !== undefined)
      .optional(),
    GATEWAY_WEBHOOK_ALLOW: z
      .string()
      .refine((list) => listOf(list).every(isOrigin))
      .optional(),
    GATEWAY_WEBHOOK_SCHEDULE: z
      .string()
      .regex(/^\d{1,6}(,\d{1,6}){0,4}$/)
      .default('0,5,300,1800,7200'),
    GATEWAY_CLIENT_HOSTS: z
      .string()
      .refine(areClientHosts)
      .default('claude.ai,claude.com,chatgpt.com,vscode.dev,cursor.com,www.cursor.com'),
    GATEWAY_CLIENT_ALLOW: z
      .string()
      .refine((list) => listOf(list).every(isOrigin))
      .optional(),
    GATEWAY_SOURCE_HOSTS: z.string().refine(areSourceHosts).optional(),
    GATEWAY_MCP_EVENTS: z.enum(['current', 'sketch', 'off']).default('current'),
    GATEWAY_MCP_WEBHOOK_ID: z.enum(['event', 'message']).default('event'),
    GATEWAY_AUDIT_DAYS: whole(1, 3_650).default(90),
    GATEWAY_AUDIT_ADDRESSES: z.enum(['network', 'full']).default('network'),
    GATEWAY_HOSTED_CONSENT_MAX: z.enum(['8h', '7d', '30d', '90d']).default('30d').transform(secondsOf),
    LOG_FORMAT: z.enum(['json', 'pretty']).optional(),
    LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  })
  .refine((all) => (all.GATEWAY_TLS_CERT === undefined) === (all.GATEWAY_TLS_KEY === undefined), {
    path: ['GATEWAY_TLS_CERT'],
  })
  .superRefine((all, context) => {
    for (const path of ['DATABASE_DIRECT_URL', 'DATABASE_REPLICA_URL'] as const)
      if (all[path] !== undefined && all.DATABASE_URL === undefined) context.addIssue({ code: 'custom', path: [path] });
    for (const path of unusableTracing(all)) context.addIssue({ code: 'custom', path: [path] });
    const missing = IDENTITY.filter((name) => all[name] === undefined);
    if (missing.length < IDENTITY.length)
      for (const path of missing) context.addIssue({ code: 'custom', path: [path] });
  });

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
];

/**
 * Returns the names of tracing settings with unusable values. The OpenTelemetry SDK would silently replace these values
 * by defaults, so the gateway refuses them. Checks only when tracing is on.
 */
function unusableTracing(given: Parameters<typeof collectorOf>[0] & Readonly<Record<string, unknown>>): string[] {
  if (collectorOf(given) === undefined) return [];
  const text = (name: string): string | undefined => {
    const value = given[name];
    return typeof value === 'string' ? value : undefined;
  };
  const sampler = text('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on';
  const ratio = text('OTEL_TRACES_SAMPLER_ARG') ?? '';
  const spoken = (name: string): boolean => (text(name) ?? 'http/json') === 'http/json';
  return [
    ...['OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'].filter((name) => !spoken(name)),
    ...(SAMPLERS.includes(sampler) ? [] : ['OTEL_TRACES_SAMPLER']),
    ...(sampler.endsWith('traceidratio') && !/^(0|1|0?\.\d+|1\.0+)$/.test(ratio) ? ['OTEL_TRACES_SAMPLER_ARG'] : []),
    ...(areAttributes(text('OTEL_RESOURCE_ATTRIBUTES') ?? '') ? [] : ['OTEL_RESOURCE_ATTRIBUTES']),
  ];
}

const areAttributes = (list: string): boolean =>
  listOf(list).every((pair) => /^[^=]+=[^=]*$/.test(pair) && (decoded(pair)?.length ?? Infinity) <= 255);

export interface Config {
  readonly port: number;
  readonly host: string;
  readonly baseUrl: string;
  readonly databaseUrl: string | undefined;
  /**
   * The address of the PostgreSQL server behind the pooler. Set only if `databaseUrl` is a pooler in transaction mode.
   */
  readonly directUrl: string | undefined;
  /** The address of a streaming replica, which answers reads that may be slightly out of date. */
  readonly replicaUrl: string | undefined;
  readonly dataDir: string;
  /** True when the operator has chosen `dataDir`. False for the default folder below the current directory. */
  readonly dataDirGiven: boolean;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly dbConnections: number;
  /** The number of the cell to which the store belongs. */
  readonly cell: number;
  /** The operator's keys. `undefined` means that the gateway makes a key and keeps it in the data directory. */
  readonly keys: readonly Key[] | undefined;
  readonly trustedProxies: readonly string[];
  readonly metricsAllowed: readonly string[];
  /** Where traces are sent, and the name of the service in them. `undefined` turns tracing off. */
  readonly tracing: { readonly url: string; readonly service: string } | undefined;
  /**
   * `allowed`: origins of receivers that may use http or a private address. `schedule`: seconds before each attempt.
   */
  readonly webhooks: { readonly allowed: ReadonlySet<string>; readonly schedule: readonly number[] };
  /**
   * `hosts`: the hosts whose client documents are believed, or `*`. `allowed`: origins of documents that may use http
   * or a private address. `longest`: the longest time of a consent for such a client, in seconds.
   */
  readonly clientsByUrl: {
    readonly hosts: readonly string[];
    readonly allowed: ReadonlySet<string>;
    readonly longest: number;
  };
  /** The hosts of helpdesks that owners may add as sources in the console. */
  readonly sourceHosts: readonly string[];
  /** The text of the extension that events over MCP follow. Undefined: no events over MCP. */
  readonly mcpEvents: { readonly text: 'current' | 'sketch'; readonly webhookId: 'event' | 'message' } | undefined;
  /** `days`: how long audit records are kept. `fullAddresses`: they hold the client's whole address. */
  readonly audit: { readonly days: number; readonly fullAddresses: boolean };
  /** The OpenID Connect provider for sign-in. If `undefined`, people sign in at the gateway itself. */
  readonly identity: { readonly issuer: string; readonly clientId: string; readonly clientSecret: string } | undefined;
  readonly logLevel: string;
  /** The format of the log. `undefined` means `pretty` on a terminal, and `json` elsewhere. */
  readonly logFormat: 'json' | 'pretty' | undefined;
  /** True when npm, or a tool with npm's variables, has started this process. */
  readonly npm: boolean;
}

export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const unknown = Object.keys(environment).filter((name) => name.startsWith('GATEWAY_') && !(name in EXPECTED));
  if (unknown[0] !== undefined) {
    const file = fileURLToPath(new URL('docs/configuration.md', packageRoot));
    throw new ConfigError(`${unknown[0]} is not a setting of the gateway. ${file} lists the settings.`);
  }
  // An empty variable counts as not set, as in shells. Only an empty list of hosts has a meaning: believe no host.
  const given = Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => value !== '' || name === 'GATEWAY_CLIENT_HOSTS'),
  );
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    const name = String(parsed.error.issues[0]?.path[0] ?? '');
    throw new ConfigError(`${name} must be ${EXPECTED[name] ?? 'a valid value'}.`);
  }
  const { data } = parsed;
  const tls =
    data.GATEWAY_TLS_CERT !== undefined && data.GATEWAY_TLS_KEY !== undefined
      ? {
          cert: readPem('GATEWAY_TLS_CERT', data.GATEWAY_TLS_CERT),
          key: readPem('GATEWAY_TLS_KEY', data.GATEWAY_TLS_KEY),
        }
      : undefined;
  const host = data.HOST.includes(':') ? `[${data.HOST}]` : data.HOST;
  if (tls) requirePair(tls);
  const baseUrl = data.GATEWAY_BASE_URL ?? `${tls ? 'https' : 'http'}://${host}:${data.PORT}`;
  if (!isBaseUrl(baseUrl)) {
    throw new ConfigError(
      'GATEWAY_BASE_URL must be given when HOST is not localhost. Set it to the address that clients use, usually that of a proxy with TLS.',
    );
  }
  const url = collectorOf(data);
  return {
    port: data.PORT,
    host: data.HOST,
    baseUrl: new URL(baseUrl).origin,
    databaseUrl: data.DATABASE_URL,
    directUrl: data.DATABASE_DIRECT_URL,
    replicaUrl: data.DATABASE_REPLICA_URL,
    dataDir: data.GATEWAY_DATA_DIR,
    dataDirGiven: given['GATEWAY_DATA_DIR'] !== undefined,
    tls,
    dbConnections: data.GATEWAY_DB_CONNECTIONS,
    cell: data.GATEWAY_CELL,
    keys: data.GATEWAY_KEYS === undefined ? undefined : parseKeys(data.GATEWAY_KEYS),
    trustedProxies: listOf(data.GATEWAY_TRUSTED_PROXIES ?? ''),
    metricsAllowed: listOf(data.GATEWAY_METRICS_ALLOW ?? ''),
    tracing: url === undefined ? undefined : { url, service: data.OTEL_SERVICE_NAME },
    webhooks: {
      allowed: new Set(listOf(data.GATEWAY_WEBHOOK_ALLOW ?? '')),
      schedule: data.GATEWAY_WEBHOOK_SCHEDULE.split(',').map(Number),
    },
    clientsByUrl: {
      hosts: listOf(data.GATEWAY_CLIENT_HOSTS.toLowerCase()),
      allowed: new Set(listOf(data.GATEWAY_CLIENT_ALLOW ?? '')),
      longest: data.GATEWAY_HOSTED_CONSENT_MAX,
    },
    sourceHosts: listOf((data.GATEWAY_SOURCE_HOSTS ?? '').toLowerCase()),
    mcpEvents:
      data.GATEWAY_MCP_EVENTS === 'off'
        ? undefined
        : { text: data.GATEWAY_MCP_EVENTS, webhookId: data.GATEWAY_MCP_WEBHOOK_ID },
    audit: { days: data.GATEWAY_AUDIT_DAYS, fullAddresses: data.GATEWAY_AUDIT_ADDRESSES === 'full' },
    identity: identityOf(data),
    logLevel: data.LOG_LEVEL,
    logFormat: data.LOG_FORMAT,
    npm: given['npm_execpath'] !== undefined,
  };
}

/**
 * Returns the URL for traces as OpenTelemetry's OTLP exporter does: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT unchanged, or
 * else OTEL_EXPORTER_OTLP_ENDPOINT with `/v1/traces` appended.
 */
function collectorOf(given: {
  readonly OTEL_TRACES_EXPORTER: string;
  readonly OTEL_SDK_DISABLED?: string | undefined;
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string | undefined;
}): string | undefined {
  if (given.OTEL_TRACES_EXPORTER === 'none' || given.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined;
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = given;
  return own ?? (base === undefined ? undefined : `${base.replace(/\/$/, '')}/v1/traces`);
}

function identityOf(given: Partial<Record<(typeof IDENTITY)[number], string | undefined>>): Config['identity'] {
  const [issuer, clientId, clientSecret] = IDENTITY.map((name) => given[name]);
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  return { issuer, clientId, clientSecret };
}

function requirePair(pair: { cert: Buffer; key: Buffer }): void {
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new ConfigError('GATEWAY_TLS_CERT and GATEWAY_TLS_KEY must be a PEM certificate and its private key.', {
      cause: error,
    });
  }
}

function readPem(name: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new ConfigError(`${name} names a file that cannot be read. Name a PEM file that this user may read.`, {
      cause: error,
    });
  }
}
