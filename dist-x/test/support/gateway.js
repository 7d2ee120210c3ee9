import pino from 'pino';
import { expect } from 'vitest';
import { Trail } from '../../src/audit/trail.js';
import { cardKeys } from '../../src/auth/card-keys.js';
import { openOAuth } from '../../src/auth/oauth/services.js';
import { openMcpEvents } from '../../src/events/mcp/mcp-events.js';
import { openRealtime } from '../../src/events/realtime/realtime.js';
import { readGuides } from '../../src/gateway/guides.js';
import { loadPrompts, loadResources, loadSkillFiles, loadSkills } from '../../src/gateway/load.js';
import { openGateway } from '../../src/gateway/open.js';
import { streaming } from '../../src/gateway/streaming.js';
import { tellRunCall } from '../../src/observe/run-calls.js';
import { senderOptions } from '../../src/outbound/sender.js';
import { openLedgerKey } from '../../src/store/calls/ledger.js';
import { StoreUnreachable } from '../../src/store/driver/errors.js';
import { a2aSurface } from '../../src/surfaces/a2a/a2a.js';
import { publicKeys, signedCard } from '../../src/surfaces/a2a/signed-card.js';
import { consoleSurface } from '../../src/surfaces/console/console.js';
import { docsPages } from '../../src/surfaces/docs/docs.js';
import { publicApp } from '../../src/surfaces/http/app.js';
import { openClientAddress } from '../../src/surfaces/http/client-address.js';
import { startServer } from '../../src/surfaces/http/server.js';
import { llms } from '../../src/surfaces/llms/llms.js';
import { mcpSurface } from '../../src/surfaces/mcp/mcp.js';
import { oauthSurface } from '../../src/surfaces/oauth/oauth.js';
import { openapi } from '../../src/surfaces/openapi/openapi.js';
import { realtimeSurface } from '../../src/surfaces/realtime/realtime.js';
import { recordSurface } from '../../src/surfaces/record/record.js';
import { restSurface } from '../../src/surfaces/rest/rest.js';
import { openTasks } from '../../src/tasks/tasks.js';
import { exchange } from './answer.js';
import { testSources, testTools } from './console/tools.js';
import { issue } from './credentials.js';
import { freshDatabase } from './database.js';
import { KEYS } from './keys.js';
import { openOracle } from './oracle.js';
export const BASE_URL = 'http://127.0.0.1:8420';
export async function openTestGateway(template = 'demo', database, keys = KEYS, timings = {}, byUrl, remote, audits = false, trustedProxies = []) {
    const own = database ?? (await freshDatabase(template));
    const log = [];
    const lines = pino({ level: 'trace', base: null }, { write: (line) => void log.push(line) });
    const trail = audits
        ? new Trail({
            db: own.db,
            upkeep: own.db,
            keys,
            fullAddresses: false,
            days: 90,
            onError: (error) => log.push(`AUDIT ${String(error)}`),
        })
        : undefined;
    await trail?.start();
    const corridor = await openGateway({
        store: { db: own.db, slow: own.db },
        keys,
        checkEvery: 1,
        onDefect: (tool, error) => log.push(`DEFECT ${tool.name} ${String(error)}`),
        ...(remote && { remote }),
        books: trail,
    });
    const { registry } = corridor;
    const guides = readGuides();
    const [resources, prompts, skills, skillFiles] = await Promise.all([
        loadResources(),
        loadPrompts(),
        loadSkills(registry),
        loadSkillFiles(),
    ]);
    const tasks = openTasks({
        db: own.db,
        corridor,
        // Some tests stop the store on purpose, so an unreachable store is not a defect. The next round tries again.
        onError: (error) => error instanceof StoreUnreachable || log.push(`DEFECT tasks ${String(error)}`),
        onCall: tellRunCall(lines),
        books: trail,
    });
    const realtime = openRealtime({
        db: own.db,
        keys,
        eventKey: openLedgerKey(own.db),
        ...streaming(corridor),
        onError: (error) => error instanceof StoreUnreachable || log.push(`DEFECT realtime ${String(error)}`),
        timings,
    });
    const receivers = new Set();
    const sources = testSources();
    const events = openMcpEvents({
        text: 'current',
        db: own.db,
        keys,
        eventKey: openLedgerKey(own.db),
        sender: senderOptions(receivers, BASE_URL),
    });
    const server = await startServer({
        host: '127.0.0.1',
        baseUrl: BASE_URL,
        port: 0,
        tls: undefined,
        log: lines,
        trustedProxies,
        books: trail,
        handlers: [
            mcpSurface(corridor, { baseUrl: BASE_URL, version: '0.0.0', resources, prompts, skillFiles, events }),
            a2aSurface(corridor, { baseUrl: BASE_URL, tasks, skills }),
            restSurface(corridor, BASE_URL),
            oauthSurface(openOAuth({ baseUrl: BASE_URL, db: own.db, skillScopes: skills.scopes, ...(byUrl && { byUrl }) }), openClientAddress(trustedProxies)),
            recordSurface({ baseUrl: BASE_URL, db: own.db }, openClientAddress(trustedProxies)),
            consoleSurface({
                baseUrl: BASE_URL,
                db: own.db,
                slow: own.db,
                registry,
                tools: { ...testTools(BASE_URL, receivers, sources), remote },
                books: trail,
            }, openClientAddress(trustedProxies)),
        ],
        upgrade: realtimeSurface(realtime),
        otherwise: publicApp({
            baseUrl: BASE_URL,
            openapi: () => documentOf(registry),
            llms: () => llms({ registry, guides, baseUrl: BASE_URL, resources, prompts, skills }),
            agentCard: () => signedCard({ skills, baseUrl: BASE_URL }, cardKeys(keys)),
            jwks: () => publicKeys(cardKeys(keys)),
            docs: () => docsPages({ baseUrl: BASE_URL, registry, skills, guides, version: '0.0.0' }),
            ready: async () => true,
        }),
    });
    const check = (...answered) => openOracle(judgeOf(registry))(...answered);
    const ask = async (path, options = {}) => {
        const sent = wire(options);
        const answer = await exchange({ port: server.port, path, method: sent.method, headers: sent.headers }, sent.bytes);
        if (options.unchecked !== true)
            check(sent.method, path, answer);
        return answer;
    };
    return {
        streams: () => tasks.followed,
        database: own,
        corridor,
        realtime,
        trail,
        port: server.port,
        log,
        receivers,
        sources,
        ask,
        check,
        issue: (grant, tenant = 1) => issue(own.sql, tenant, grant),
        close: async () => {
            await Promise.all([server.close(), tasks.stop(), realtime.stop()]);
            await trail?.stop();
            await own.close();
            expect(log.filter((line) => line.startsWith('DEFECT'))).toEqual([]);
        },
    };
}
let document;
/** All gateways of a test file serve the same tools, so the file makes the document only once. */
function documentOf(registry) {
    document ??= openapi(registry, BASE_URL);
    return document;
}
let judge;
/** Describes the operations by policy too, which the served document leaves out. */
function judgeOf(registry) {
    judge ??= openapi({ operations: registry.all }, BASE_URL);
    return judge;
}
function wire({ token, body, raw, method, headers = {} }) {
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const bytes = content === undefined ? undefined : Buffer.from(content);
    return {
        method: method ?? (bytes ? 'POST' : 'GET'),
        bytes,
        headers: {
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
            // If a test sets Content-Length or Transfer-Encoding itself, add no length.
            ...(bytes && !framed(headers) && { 'content-length': String(bytes.length) }),
            ...headers,
        },
    };
}
const framed = (headers) => Object.keys(headers ?? {}).some((name) => /^(content-length|transfer-encoding)$/i.test(name));
//# sourceMappingURL=gateway.js.map