import { z } from 'zod';
import { conditionName } from '../../core/conditions.js';
import { references, typeName } from '../../core/json-schema.js';
import { pathsOf } from '../../core/paths.js';
import { SCOPE_TEXTS } from '../../core/scope-texts.js';
import { grantsText, SCOPES } from '../../core/scopes.js';
import { TAGS } from '../../core/tool.js';
import { headersOf } from '../../gateway/operation-wire.js';
import { Components, Problem } from './components.js';
import { responses } from './responses.js';
export function openapi(registry, serverUrl) {
    const components = new Components();
    const paths = pathsOfAll(registry.operations, components);
    const scopes = Object.fromEntries(SCOPES.map((scope) => [scope, SCOPE_TEXTS[scope].sentence]));
    return {
        openapi: '3.1.1',
        info: {
            title: 'Installation Gateway',
            version: '1.0.0', // the version of the REST interface; the package has a version of its own
            summary: 'Stored customer-support data for installed applications and agents.',
            description: 'Most operations read stored data: conversations, visitors, contacts, catalogues, reports and AI feature ' +
                'metadata. A few operations write. A write with an Idempotency-Key takes effect only once. The gateway checks ' +
                'the authority of the credential on every request. An answer leaves out the fields that are not ' +
                'granted. Times are RFC 3339 in UTC with milliseconds, if nothing else is said.',
            license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
        },
        servers: [{ url: serverUrl, description: 'Address of this gateway.' }],
        security: [{ bearer: [] }, { oauth: [] }],
        tags: [...new Set(registry.operations.map((tool) => tool.tag))]
            .sort()
            .map((name) => ({ name, description: TAGS[name] })),
        paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
        components: {
            securitySchemes: {
                bearer: {
                    type: 'http',
                    scheme: 'bearer',
                    description: 'An installation token in the header Authorization: Bearer. Its credential can have the scopes of OAuth.',
                },
                oauth: {
                    type: 'oauth2',
                    description: `An OAuth access token for the resource ${serverUrl}. The OAuth client is a credential, and authenticates with HTTP Basic.`,
                    flows: {
                        clientCredentials: { tokenUrl: `${serverUrl}/oauth/token`, scopes },
                        authorizationCode: {
                            authorizationUrl: `${serverUrl}/oauth/authorize`,
                            tokenUrl: `${serverUrl}/oauth/token`,
                            refreshUrl: `${serverUrl}/oauth/token`,
                            scopes,
                        },
                    },
                },
            },
            ...components.all(),
        },
    };
}
const SCHEMAS = '#/components/schemas/';
function pathsOfAll(tools, components) {
    const bodies = new Map(tools.flatMap((tool) => (tool.body ? [[tool, bodyOf(tool)]] : [])));
    const outputs = references([Problem, ...tools.map(({ output }) => output)], 'output', SCHEMAS);
    const inputs = references([...bodies.values(), ...tools.flatMap(({ parameters }) => parameters.map(({ schema }) => schema))], 'input', SCHEMAS);
    for (const [name, schema] of [...outputs.named, ...inputs.named])
        components.add('schemas', name, schema);
    const parameters = new Map(tools.map((tool) => [tool, parametersOf(tool, inputs)]));
    const all = [...parameters.values()].flat().map(({ shown }) => JSON.stringify(shown));
    const several = new Set(all.filter((text, index) => all.indexOf(text) !== index));
    const paths = {};
    for (const tool of tools) {
        const body = bodies.get(tool);
        const operation = {
            ...facts(tool),
            ...(body && {
                requestBody: requestBody(components.add('schemas', typeName(`${tool.name} body`), inputs.of(body))),
            }),
            responses: responses(tool, outputs, components),
        };
        for (const path of pathsOf(tool)) {
            const whole = path === tool.path;
            const own = (parameters.get(tool) ?? []).filter(({ shown }) => whole || shown.in !== 'path' || path.includes(`{${shown.name}}`));
            paths[path] = {
                ...paths[path],
                [tool.method.toLowerCase()]: {
                    operationId: whole ? tool.name : `${tool.name}_without_id`,
                    // A parameter of only one operation is no component.
                    parameters: own.map(({ shown, component }) => several.has(JSON.stringify(shown)) ? components.add('parameters', component, shown) : shown),
                    ...operation,
                },
            };
        }
    }
    return paths;
}
const facts = (tool) => ({
    summary: tool.title,
    description: describe(tool),
    tags: [tool.tag],
    'x-required-scopes': tool.required.scopes,
    'x-required-data-access': tool.required.dataAccess,
    'x-unrestricted-required': tool.restrictions === 'refused',
    'x-quota-cost': tool.cost,
});
const requestBody = (schema) => ({ required: true, content: { 'application/json': { schema } } });
/** The conditions of an operation, grouped by what they need in words. */
function conditionsByNeeds(tool) {
    const groups = new Map();
    for (const condition of tool.when) {
        const hasGrants = condition.scopes.length + condition.dataAccess.length > 0;
        const needs = [
            ...(hasGrants ? [grantsText(condition)] : []),
            ...(condition.unrestricted ? ['a credential without restrictions'] : []),
        ].join(' and ');
        const group = groups.get(needs);
        if (group)
            group.push(condition);
        else
            groups.set(needs, [condition]);
    }
    return groups;
}
function describe(tool) {
    // x-required-scopes and x-required-data-access say what every call needs.
    const lines = [tool.summary];
    for (const [needs, [first, ...others]] of conditionsByNeeds(tool)) {
        const named = [first, ...others].map(conditionName).join(' or ');
        lines.push(first.leftOut ? `Without ${needs}, answers leave out ${named}.` : `With ${named}, a call also needs ${needs}.`);
    }
    if (tool.costWith)
        lines.push(`With ${tool.costWith.given}, a call costs ${tool.costWith.units} quota units.`);
    if (tool.restrictions === 'refused')
        lines.push('Not for credentials with restrictions.');
    if (tool.consent === 'refused')
        lines.push('Not for tokens from a person’s consent.');
    return lines.join(' ');
}
const parametersOf = (tool, inputs) => [
    ...tool.parameters.flatMap((one) => one.in === 'body' ? [] : [{ shown: parameter(one, inputs), component: one.component }]),
    ...headersOf(tool).map((shown) => ({
        shown,
        component: shown.required ? shown.name : `${shown.name}_optional`,
    })),
];
function parameter({ name, in: place, schema, required }, inputs) {
    const { description, ...rest } = inputs.of(schema);
    const { $ref } = rest;
    const named = typeof $ref === 'string' ? inputs.named.get($ref.slice(SCHEMAS.length)) : undefined;
    return {
        ...{ name, in: place, required: required || place === 'path' },
        ...{ description: description ?? named?.['description'], schema: rest },
    };
}
const bodyOf = ({ parameters }) => z.strictObject(Object.fromEntries(parameters.flatMap((one) => (one.in === 'body' ? [[one.name, one.schema]] : []))));
//# sourceMappingURL=openapi.js.map