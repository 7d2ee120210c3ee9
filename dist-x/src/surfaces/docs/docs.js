import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import accepts from 'accepts';
import { packageRoot } from '../../config/package.js';
import { FAILURE_CODES } from '../../core/failures.js';
import { DOCUMENT_AGE, document, once } from '../http/document.js';
import { send } from '../http/reply.js';
import { pathOf } from '../http/request.js';
import { clientsText } from './clients.js';
import { errorsBody, missingBody } from './errors.js';
import { guideBody } from './guide.js';
import { LIMIT_SECTIONS, limitsBody } from './limits.js';
import { PAGE_CSP, renderPage, titleOfGuide } from './page.js';
import { operationBody } from './reference/operation.js';
import { operationList, overviewBody, overviewSections } from './reference/overview.js';
import { addressOf } from './reference/words.js';
import { SCOPE_SECTIONS, scopesBody } from './scopes.js';
import { searchIndex } from './search-index.js';
import { START_SECTIONS, startBody } from './start.js';
const HTML = 'text/html; charset=utf-8';
/** Seconds that an asset may be cached. */
const ASSET_AGE = 3_600;
const MISSING_HEADERS = { 'Cache-Control': 'no-store', Vary: 'Accept', 'Content-Security-Policy': PAGE_CSP };
export function docsPages(options) {
    const { documents, missing } = documentsOf(options);
    return {
        documents,
        redirects: new Map([
            ...FAILURE_CODES.map((code) => [`/problems/${code}`, `/docs/errors#${code}`]),
            ...[...documents.keys()].map((path) => [`${path}/`, path]),
        ]),
        missing: (request, response) => {
            if (!wantsPage(request))
                return false;
            send(request, response, 404, HTML, missing(), MISSING_HEADERS);
            return true;
        },
    };
}
/** Addresses that only programs call. They never get a page, even if the request accepts HTML. */
const OF_PROGRAMS = /^\/(?:api|mcp|a2a|oauth|\.well-known|metrics)(?:\/|$)/;
/** True for a browser that asks for an address without a page. Other clients get the problem document not_found. */
const wantsPage = (request) => (request.method === 'GET' || request.method === 'HEAD') &&
    !OF_PROGRAMS.test(pathOf(request)) &&
    accepts(request).type(['application/problem+json', 'application/json', 'text/html']) === 'text/html';
function documentsOf(options) {
    const assets = assetsOf(options);
    const digest = createHash('sha256');
    for (const { content } of assets.values())
        digest.update(content);
    const site = { version: options.version, guides: options.guides, build: digest.digest('hex').slice(0, 12) };
    const page = (one) => document(HTML, renderPage(site, one), { maxAge: DOCUMENT_AGE, csp: PAGE_CSP });
    return {
        documents: new Map([
            ...Object.entries(pagesOf(options)).map(([path, make]) => [path, once(() => page({ path, ...make() }))]),
            ...[...assets].map(([name, { type, content }]) => [`/docs/assets/${name}`, once(() => document(type, content, { maxAge: ASSET_AGE }))]),
        ]),
        missing: once(() => renderPage(site, { path: '', title: 'Not found', description: 'The address has no page.', body: missingBody() })),
    };
}
const pagesOf = ({ baseUrl, registry, skills, guides }) => ({
    '/docs': () => ({
        title: 'Developer documentation',
        description: 'How to call the Installation Gateway over REST, MCP and A2A.',
        body: startBody({ baseUrl, guides, registry, skills }),
        sections: START_SECTIONS,
    }),
    '/docs/clients': () => ({
        title: 'Connect a client',
        description: 'What to click in Claude, ChatGPT, Codex, VS Code and Cursor, from one address to the first call.',
        ...guideBody(clientsText(baseUrl), registry),
    }),
    '/docs/errors': () => ({
        title: 'Errors',
        description: 'Every failure code of the Installation Gateway and what to do about it.',
        body: errorsBody(baseUrl),
        layout: 'wide',
    }),
    '/docs/limits': () => ({
        title: 'Limits',
        description: 'Every limit of the Installation Gateway: quota, requests, writes, events, tasks and OAuth.',
        body: limitsBody(),
        sections: LIMIT_SECTIONS,
    }),
    '/docs/scopes': () => ({
        title: 'Scopes',
        description: 'Every scope and data-access flag, and the operations that need it.',
        body: scopesBody(registry),
        sections: SCOPE_SECTIONS,
    }),
    ...Object.fromEntries([...guides].map(([name, text]) => [
        `/docs/guides/${name}`,
        () => ({
            title: titleOfGuide(name),
            description: `Guide: ${titleOfGuide(name)}.`,
            ...guideBody(text, registry),
        }),
    ])),
    '/docs/reference': () => ({
        title: 'Reference',
        description: 'Every operation of the gateway with its parameters, answers and failures.',
        body: overviewBody(registry, baseUrl),
        side: operationList(registry, '/docs/reference'),
        sections: overviewSections(registry),
    }),
    ...Object.fromEntries(registry.operations.map((tool) => [
        addressOf(tool),
        () => ({
            title: tool.title,
            description: tool.summary,
            body: operationBody(tool, registry, baseUrl),
            side: operationList(registry, addressOf(tool)),
            layout: 'operation',
        }),
    ])),
});
function assetsOf({ baseUrl, registry, guides }) {
    const script = (name) => [
        name,
        { type: 'text/javascript; charset=utf-8', content: own(name) },
    ];
    const style = Buffer.concat(['base.css', 'frame.css', 'parts.css', 'reference.css', 'try.css'].map(own));
    return new Map([
        ['docs.css', { type: 'text/css; charset=utf-8', content: style }],
        ...['theme.js', 'docs.js', 'search.js', 'try.js'].map(script),
        [
            'search.json',
            {
                type: 'application/json',
                content: Buffer.from(JSON.stringify(searchIndex(registry, guides, clientsText(baseUrl)))),
            },
        ],
        ['text.woff2', { type: 'font/woff2', content: font('geist') }],
        ['mono.woff2', { type: 'font/woff2', content: font('geist-mono') }],
    ]);
}
const own = (name) => readFileSync(new URL(`src/surfaces/docs/${name}`, packageRoot));
const require = createRequire(import.meta.url);
const font = (name) => readFileSync(require.resolve(`@fontsource-variable/${name}/files/${name}-latin-wght-normal.woff2`));
//# sourceMappingURL=docs.js.map