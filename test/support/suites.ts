/**
 * Which files run in which mode of Vitest. `npm run test:all` runs every file. `npm test` is the mode `quick`: it leaves
 * out WHOLE, and the files of SHORTER repeat less (form.ts). The mode `rest` runs what `npm test` has not run in full:
 * WHOLE, and in the files of SHORTER the tests that repeat less. So `npm test` and `npm run test:all -- --mode rest`
 * together run everything once.
 */
const names = (...all: readonly string[]): readonly string[] => all.map((name) => `test/${name}.test.ts`);

/**
 * Files that take long, that need the network in their first run, or whose rule another file already shows by one
 * example.
 */
export const WHOLE = names(
  'auth/oauth/authorize',
  'auth/oauth/ends',
  'auth/oauth/hosted',
  'auth/oauth/token',
  'auth/people',
  'cli/person',
  'cli/restored',
  'cli/source',
  'cli/workers',
  'deploy/package',
  'documents/commands',
  'events/realtime/memory',
  'events/realtime/protocol',
  'events/realtime/stream',
  'events/realtime/turns',
  'events/webhooks/webhooks',
  'faults/events',
  'faults/hosts',
  'faults/isolated',
  'faults/journal',
  'faults/patroni',
  'faults/realtime-store',
  'faults/rolling',
  'faults/source-pages',
  'faults/sources',
  'faults/standby',
  'gateway/quota',
  'hostile/connections',
  'hostile/consents',
  'hostile/cost',
  'hostile/data-folder',
  'hostile/fairness',
  'hostile/held',
  'hostile/hosted-clients',
  'hostile/http-servers',
  'hostile/lives',
  'hostile/neighbours',
  'hostile/oauth-clients',
  'hostile/pages',
  'hostile/poison/following',
  'hostile/poison/import-and-reads',
  'hostile/postgres-bounds',
  'hostile/postgres-codes',
  'hostile/postgres-memory',
  'hostile/postgres-server',
  'hostile/search',
  'hostile/search-bounds',
  'hostile/search-long',
  'hostile/sign-in',
  'hostile/sources',
  'hostile/sources-away',
  'hostile/statements',
  'hostile/streams',
  'hostile/turns',
  'hostile/write-back-servers',
  'integrations/a2a-clients',
  'integrations/acts',
  'integrations/agents',
  'integrations/conformance',
  'integrations/events',
  'integrations/inspector',
  'integrations/openapi-client',
  'integrations/tck',
  'laws/interference',
  'laws/live',
  'laws/matrix',
  'observe/metrics',
  'process/checkout',
  'process/dev',
  'sources/chatwoot/grants-hostile',
  'sources/chatwoot/write-back',
  'sources/chatwoot/write-back-changes',
  'sources/chatwoot/write-back-kills',
  'sources/chatwoot/write-back-limits',
  'sources/chatwoot/write-back-replies',
  'sources/files/kill',
  'sources/files/northwind',
  'sources/follow/bounds',
  'sources/follow/follow',
  'sources/follow/operations',
  'sources/follow/turns',
  'store/cells/kills',
  'store/cells/move',
  'store/cells/refusals',
  'store/driver/connections',
  'store/driver/statements',
  'store/embedded/binaries',
  'store/embedded/embedded',
  'store/open/build',
  'store/open/pooler',
  'store/open/replica',
  'surfaces/docs/docs',
  'surfaces/fuzz',
  'surfaces/mcp/clients',
  'surfaces/mcp/flood',
  'surfaces/mcp/lists',
  'surfaces/mcp/load',
  'surfaces/mcp/parity',
  'surfaces/oauth/client-packages',
  'surfaces/oauth/consent',
  'surfaces/oauth/consent-flow',
  'surfaces/oauth/profiles',
  'tasks/batches',
  'tasks/states',
);

export const SHORTER = names(
  'agents/driver',
  'agents/tasks',
  'auth/oauth/races',
  'cli/demo',
  'cli/doctor',
  'cli/hosted',
  'faults/degraded',
  'faults/pgwire',
  'faults/realtime',
  'faults/store',
  'faults/tasks',
  'faults/thrown',
  'faults/webhooks',
  'faults/writes',
  'gateway/ledger/remote',
  'hostile/budgets',
  'hostile/fence',
  'laws/canaries',
  'laws/cells',
  'laws/writes',
  'process/endings',
  'process/log',
  'sources/engine/html',
  'sources/files/import',
  'sources/follow/owed',
  'sources/follow/poison',
  'sources/reader/reader',
  'sources/writer/writer',
  'store/embedded/platform',
  'surfaces/console/console-flow',
  'surfaces/console/managed-flow',
  'surfaces/openapi/openapi',
  'surfaces/record/record-flow',
  'tasks/model',
);

/**
 * Files that each run in a process of their own: they replace modules or settings of the process, watch its memory or
 * its event loop, or end threads and processes. The others run one after another in three processes.
 */
const OWN_PROCESS = [
  'test/privacy/erasure-canary.test.ts',
  'test/privacy/restored.test.ts',
  'test/privacy/retention.test.ts',
  ...['cli', 'observe', 'sources/reader', 'sources/writer'].map((room) => `test/${room}/**`),
  ...names(
    'auth/oauth/clock',
    'auth/oauth/by-url',
    'auth/people',
    'events/heartbeat',
    'events/realtime/memory',
    'events/realtime/protocol',
    'events/realtime/upgrade',
    'events/webhooks/queue',
    'faults/patroni',
    'faults/thrown',
    'flow/periodic-job',
    'gateway/cells/moved',
    'gateway/shared-reads',
    'hostile/connections',
    'hostile/cost',
    'hostile/held',
    'hostile/hosted-clients',
    'hostile/http-servers',
    'hostile/poison/following',
    'hostile/poison/import-and-reads',
    'hostile/poison/terminal',
    'hostile/postgres-bounds',
    'hostile/postgres-server',
    'hostile/search-bounds',
    'hostile/sources',
    'hostile/write-back-servers',
    'laws/cells',
    'laws/walls',
    'outbound/sender',
    'process/hosts',
    'sources/follow/bounds',
    'sources/follow/poison',
    'sources/follow/turns',
    'store/cells/move',
    'store/cells/kills',
    'store/driver/connections',
    'store/driver/garbage',
    'store/embedded/binaries',
    'store/embedded/embedded',
    'store/embedded/platform',
    'store/open/pooler',
    'surfaces/console/approvers',
    'surfaces/console/attacks',
    'surfaces/a2a/signature',
    'surfaces/a2a/streams',
    'surfaces/fuzz',
    'surfaces/mcp/flood',
    'surfaces/mcp/load',
    'surfaces/record/record',
  ),
];

/**
 * Files that replace a module of Node for the program. They load its sources through Vite, because Vite cannot replace
 * what Node loads by itself. The others load the compiled program (compiled.ts).
 */
export const REPLACING = ['test/auth/oauth/by-url.test.ts', 'test/auth/people.test.ts'];

export const hasOwnProcess = (file: string): boolean =>
  OWN_PROCESS.some((one) => (one.endsWith('/**') ? file.startsWith(one.slice(0, -2)) : file === one));

interface Files {
  readonly include: string[];
  readonly exclude: string[];
}

/** The files that a mode of Vitest runs, by the process in which they run. */
export function filesOf(mode: string): { readonly own: Files; readonly shared: Files } {
  const rest = mode === 'rest' ? [...WHOLE, ...SHORTER] : undefined;
  const exclude = mode === 'quick' ? [...WHOLE] : [];
  return {
    own: {
      include: rest?.filter(hasOwnProcess) ?? OWN_PROCESS.map((one) => one.replace(/\*\*$/, '**/*.test.ts')),
      exclude,
    },
    shared: { include: rest ?? ['test/**/*.test.ts'], exclude: [...exclude, ...OWN_PROCESS] },
  };
}
