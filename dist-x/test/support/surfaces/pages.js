import pino from 'pino';
import { GUIDE_NAMES } from '../../../src/core/guides.js';
import { readGuides } from '../../../src/gateway/guides.js';
import { loadSkills, loadTools } from '../../../src/gateway/load.js';
import { docsPages } from '../../../src/surfaces/docs/docs.js';
import { addressOf } from '../../../src/surfaces/docs/reference/words.js';
import { publicApp } from '../../../src/surfaces/http/app.js';
import { startServer } from '../../../src/surfaces/http/server.js';
import { openapi } from '../../../src/surfaces/openapi/openapi.js';
import { openVisit } from './browser.js';
const BASE_URL = 'http://127.0.0.1:8420';
export async function servePages() {
    const registry = await loadTools();
    const server = await startServer({
        host: '127.0.0.1',
        baseUrl: BASE_URL,
        port: 0,
        tls: undefined,
        log: pino({ level: 'silent' }),
        handlers: [],
        otherwise: publicApp({
            baseUrl: BASE_URL,
            openapi: () => openapi(registry, BASE_URL),
            llms: () => ({ index: '# index', full: '# full' }),
            docs: async () => docsPages({
                baseUrl: BASE_URL,
                registry,
                skills: await loadSkills(registry),
                guides: readGuides(),
                version: '1.2.3',
            }),
            ready: async () => true,
        }),
    });
    const origin = `http://127.0.0.1:${server.port}`;
    return {
        registry,
        port: server.port,
        origin,
        paths: [
            ...['/docs', '/docs/clients', '/docs/errors', '/docs/scopes', '/docs/limits', '/docs/reference'],
            ...GUIDE_NAMES.map((name) => `/docs/guides/${name}`),
            ...registry.operations.map(addressOf),
        ],
        get: (path, init = {}) => fetch(origin + path, { redirect: 'manual', ...init }),
        visit: async (browser, view, path, act) => {
            const one = await openVisit(browser, origin, view);
            try {
                await one.page.goto(origin + path);
                return await act(one);
            }
            finally {
                await one.close();
            }
        },
        close: () => server.close(),
    };
}
/** A page as a reader sees it: without tags, and with the characters of entities. */
export const textOf = (page) => page
    .replace(/<(script|style)\b.*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&');
//# sourceMappingURL=pages.js.map