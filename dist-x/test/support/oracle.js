import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import { once } from './once.js';
import { referred } from './openapi.js';
const opened = new WeakMap();
const INSIDE = /(\bat .+\.(ts|js):\d+)|node_modules|\bSELECT\b|\bplatform\.|\bgateway\.(token|credential|journal)|ZodError|PostgresError|syntax error|relation "/;
/** Checks every answer: a status and body of the OpenAPI document, a request id, hardening headers, no internals. */
export function openOracle(document) {
    const oracle = opened.get(document) ?? oracleOf(document);
    opened.set(document, oracle);
    return oracle;
}
function ajvOf(document, options = {}) {
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true, inlineRefs: false, ...options });
    addFormats.default(ajv);
    return ajv.addSchema(document, 'openapi.json');
}
function oracleOf(document) {
    // Compile each schema only when an answer needs it. Compiling all takes 1.9 s, and 1.1 s with these options (26 November
    // 2026). compileAnswers, which a test of the document calls, validates the schemas.
    const ajv = ajvOf(document, { validateSchema: false, code: { optimize: false } });
    const operations = compile(document, ajv);
    return (method, url, answer) => {
        const path = url.split('?')[0] ?? '';
        const where = `${method} ${path} -> ${answer.status}`;
        expect(answer.headers['x-request-id'], where).toMatch(/^req_[a-f0-9]{32}$/);
        expect(answer.headers['x-content-type-options'], where).toBe('nosniff');
        expect(answer.headers['content-security-policy'], where).toBe("default-src 'none'; frame-ancestors 'none'");
        expect(answer.headers['x-powered-by'], where).toBeUndefined();
        if (answer.status >= 400)
            expect(INSIDE.exec(answer.text)?.[0], where).toBeUndefined();
        expect(answer.status, `${where} ${answer.text}`).not.toBe(500);
        const operation = operations.find((one) => one.pattern.test(path));
        const responses = operation?.methods.get(method === 'HEAD' ? 'GET' : method);
        if (!responses)
            return;
        const contents = responses.get(String(answer.status));
        expect(contents, `${where} is not documented`).toBeDefined();
        if (contents?.size === 0)
            expect([answer.text, answer.headers['content-type']], where).toEqual(['', undefined]);
        if (method === 'HEAD' || contents?.size === 0)
            return;
        const type = (answer.headers['content-type'] ?? '').split(';')[0] ?? '';
        const compiled = contents?.get(type);
        expect(compiled, `${where} as ${type} is not documented`).toBeDefined();
        if (!compiled || !type.includes('json'))
            return;
        const validate = compiled();
        if (!validate(answer.body)) {
            throw new Error(`${where} does not conform: ${ajv.errorsText(validate.errors)}\n${answer.text.slice(0, 600)}`);
        }
    };
}
/** Compiles every answer schema, as the oracle does. Returns the number of schemas. */
export function compileAnswers(document) {
    const ajv = ajvOf(document);
    const all = compile(document, ajv).flatMap(({ methods }) => [...methods.values()].flatMap((responses) => [...responses.values()].flatMap((contents) => [...contents.values()])));
    for (const compiled of all)
        compiled();
    return all.length;
}
function compile(document, ajv) {
    const known = new Map();
    /** Operations share responses, and each is compiled once. */
    const compiled = ($ref) => {
        const made = known.get($ref) ?? once(() => ajv.compile({ $ref }));
        known.set($ref, made);
        return made;
    };
    const { paths } = document; // the cast is sound, because this is the gateway's own OpenAPI document
    return Object.entries(paths).map(([path, methods]) => ({
        path,
        pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
        methods: new Map(Object.entries(methods).map(([method, { responses }]) => [
            method.toUpperCase(),
            new Map(Object.entries(responses).map(([status, response]) => {
                const at = response.$ref ?? `#/paths/${pointer(path)}/${method}/responses/${status}`;
                const { content } = response.$ref === undefined ? response : referred(document, response.$ref);
                const schemaOf = (type) => compiled(`openapi.json${at}/content/${pointer(type)}/schema`);
                return [status, new Map(Object.keys(content ?? {}).map((type) => [type, schemaOf(type)]))];
            })),
        ])),
    }));
}
const pointer = (key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
//# sourceMappingURL=oracle.js.map