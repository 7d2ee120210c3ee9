import pino from 'pino';
import { Trail } from '../../src/audit/trail.ts';
import { Failure } from '../../src/core/failures.ts';
import { openGateway } from '../../src/gateway/open.ts';
import { openStore } from '../../src/store/open/open.ts';
import { sendProblem } from '../../src/surfaces/http/reply.ts';
import { startServer } from '../../src/surfaces/http/server.ts';
import { mcpSurface } from '../../src/surfaces/mcp/mcp.ts';
import { restSurface } from '../../src/surfaces/rest/rest.ts';
import { KEYS } from '../support/keys.ts';

/** A gateway with audit records (the argument `on`) or without, so that one run compares both (bench/audit.ts). */
const [state = 'on', port = '0', databaseUrl = ''] = process.argv.slice(2);
const baseUrl = `http://127.0.0.1:${port}`;
const ignore = (): void => undefined;
const store = await openStore({ databaseUrl, dataDir: '', connections: 8, log: ignore });
const books =
  state === 'on'
    ? new Trail({
        db: store.audit,
        upkeep: store.upkeep,
        keys: KEYS,
        fullAddresses: false,
        days: 90,
        onError: (error) => process.stderr.write(`${String(error)}\n`),
      })
    : undefined;
await books?.start();
const corridor = await openGateway({ store, keys: KEYS, baseUrl, checkEvery: 256, onDefect: ignore, books });
await startServer({
  ...{ host: '127.0.0.1', port: Number(port), baseUrl, tls: undefined, books },
  log: pino({ level: 'silent' }),
  handlers: [
    mcpSurface(corridor, {
      ...{ baseUrl, version: '0.0.0', resources: [], prompts: [], skillFiles: [], events: undefined },
    }),
    restSurface(corridor, baseUrl),
  ],
  otherwise: (request, response) =>
    sendProblem(request, response, new Failure('not_found'), { baseUrl, requestId: '' }),
});
process.once('SIGTERM', () => void (books?.stop() ?? Promise.resolve()).finally(() => process.exit()));
process.stderr.write('ready\n');
