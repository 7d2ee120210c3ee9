import { STATUS_CODES } from 'node:http';
import { statusOf } from '../../core/failures.js';
import { typeName } from '../../core/json-schema.js';
import { failureGroups, isConditional } from '../../gateway/operation-wire.js';
import { Problem } from './components.js';
export function responses(tool, outputs, components) {
    const groups = failureGroups(tool);
    const statuses = [...new Set(groups.flatMap(({ codes }) => codes.map(statusOf)))].sort();
    return {
        [tool.status]: success(tool, outputs, components),
        ...(tool.performs && { 202: components.add('responses', 'AwaitsApproval', awaits(components)) }),
        ...(tool.bytes && { 206: bytes(components) }),
        ...(isConditional(tool) && { 304: components.add('responses', 'NotModified', notModified(components)) }),
        ...Object.fromEntries(statuses.map((status) => [status, failure(status, groups, outputs, components)])),
        ...(tool.status === 101 && {
            // An operation that answers success with status 101 has no 2xx response, but some OpenAPI tools expect a 2xx
            // response or a default response.
            default: {
                description: 'Any other refusal of the WebSocket handshake.',
                headers: components.headers('X-Request-Id'),
                content: { 'application/problem+json': { schema: outputs.of(Problem) } },
            },
        }),
    };
}
const QUOTA = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];
const awaits = (components) => ({
    description: 'A person must approve the write first, on the page Location.',
    headers: components.headers(...QUOTA, 'X-Gateway-Operation-Id', 'Idempotency-Replayed', 'Location'),
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${typeName('operation_get answer')}` } } },
});
const SUCCESS = {
    101: 'The connection is now a WebSocket.',
    200: 'The answer.',
    201: 'The resource that was created.',
    204: 'Success without a body.',
};
const success = (tool, outputs, components) => ({
    description: SUCCESS[tool.status],
    headers: {
        ...components.headers(...QUOTA, ...(tool.idempotency !== 'none' ? ['X-Gateway-Operation-Id', 'Idempotency-Replayed'] : []), ...(tool.revision ? ['ETag'] : []), ...(tool.location ? ['Location'] : [])),
        ...(isConditional(tool) && { ETag: components.add('headers', 'EntityTag', ENTITY_TAG) }),
    },
    ...(tool.status !== 204 &&
        tool.status !== 101 && {
        content: {
            'application/json': { schema: answer(tool, outputs, components) },
            ...(tool.bytes && BYTES),
        },
    }),
});
const ENTITY_TAG = {
    description: 'Entity tag of the answer. A later request can send it in If-None-Match.',
    schema: { type: 'string' },
};
const notModified = (components) => ({
    description: 'The answer has not changed since the one whose ETag the request sends in If-None-Match. It has no body.',
    headers: { ...components.headers(...QUOTA), ETag: components.add('headers', 'EntityTag', ENTITY_TAG) },
});
/** The answer of an operation is a component of its own. If its schema has a name, this name is enough. */
function answer(tool, outputs, components) {
    const schema = outputs.of(tool.output);
    return '$ref' in schema ? schema : components.add('schemas', typeName(`${tool.name} answer`), schema);
}
const BYTES = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
const bytes = (components) => ({
    description: 'Bytes of the requested range. Without a Range header: bytes of the requested chunk.',
    headers: {
        ...components.headers(...QUOTA),
        ETag: { description: 'Version of the file, as an entity tag.', schema: { type: 'string' } },
        'Content-Range': {
            description: 'Range of the returned bytes, and size of the whole file in bytes.',
            schema: { type: 'string' },
        },
        'Content-Digest': {
            description: 'SHA-256 of the returned bytes, in the form of RFC 9530.',
            schema: { type: 'string' },
        },
        'X-Gateway-File-Version': { description: 'Version of the file, without quotes.', schema: { type: 'string' } },
    },
    content: BYTES,
});
/** The refusals with one status. The name of the component has the status and the groups, so it names the codes. */
function failure(status, groups, outputs, components) {
    const named = groups.filter(({ codes }) => codes.some((code) => statusOf(code) === status));
    const codes = [...new Set(named.flatMap((group) => group.codes.filter((code) => statusOf(code) === status)))].sort();
    const reason = STATUS_CODES[status] ?? String(status);
    const words = [reason, ...named.map(({ name }) => name)];
    return components.add('responses', [...new Set(words.map(typeName))].join(''), {
        // The enum of `code` lists the codes. The component FailureCode says what each code means.
        description: `${reason}.`,
        headers: components.headers('X-Request-Id', ...(status === 401 ? ['WWW-Authenticate'] : []), ...(status === 409 ? ['X-Gateway-Operation-Id', 'Idempotency-Replayed'] : []), ...(status === 429 || status === 503 || codes.includes('operation_in_progress')
            ? ['Retry-After']
            : [])),
        content: {
            'application/problem+json': {
                schema: {
                    allOf: [
                        outputs.of(Problem),
                        { type: 'object', properties: { code: { enum: codes }, status: { const: status } } },
                    ],
                },
            },
        },
    });
}
//# sourceMappingURL=responses.js.map