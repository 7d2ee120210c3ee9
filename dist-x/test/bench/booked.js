import pino from 'pino';
import { Trail } from '../../src/audit/trail.js';
import { Failure } from '../../src/core/failures.js';
import { openGateway } from '../../src/gateway/open.js';
import { openStore } from '../../src/store/open/open.js';
import { sendProblem } from '../../src/surfaces/http/reply.js';
import { startServer } from '../../src/surfaces/http/server.js';
import { restSurface } from '../../src/surfaces/rest/rest.js';
import { KEYS } from '../support/keys.js';
/** A gateway with audit records (the argument `on`) or without, so that one run compares both (bench/audit.ts). */
const [state = 'on', port = '0', databaseUrl = ''] = process.argv.slice(2);
const baseUrl = `http://127.0.0.1:${port}`;
const ignore = () => undefined;
const store = await openStore({ databaseUrl, dataDir: '', connections: 8, log: ignore });
const books = state === 'on'
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
    handlers: [restSurface(corridor, baseUrl)],
    otherwise: (request, response) => sendProblem(request, response, new Failure('not_found'), {
        baseUrl,
        requestId: '',
        resource: '',
        tokenSent: false,
    }),
});
process.once('SIGTERM', () => void (books?.stop() ?? Promise.resolve()).finally(() => process.exit()));
process.stderr.write('ready\n');
//# sourceMappingURL=booked.js.map