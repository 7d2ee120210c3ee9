import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
export const bytes = (text) => Buffer.byteLength(text);
const wordsOf = (error) => (error instanceof Error ? error.message : String(error));
const newMeter = () => ({ calls: 0, opening: 0, received: 0, read: 0, sent: 0 });
/** The gateway over MCP, by the SDK's client. */
export async function openMcp(address, token) {
    const meter = newMeter();
    const counted = async (url, init = {}) => {
        const body = typeof init.body === 'string' ? init.body : '';
        meter.sent += bytes(body);
        const response = await fetch(url, init);
        const text = await response.text();
        meter[body.includes('"method":"tools/call"') ? 'received' : 'opening'] += bytes(text);
        const isEmpty = [202, 204].includes(response.status);
        return new Response(isEmpty ? null : text, { status: response.status, headers: response.headers });
    };
    const transport = new StreamableHTTPClientTransport(new URL(address), {
        requestInit: { headers: { Authorization: `Bearer ${token}` } },
        fetch: counted,
    });
    const client = new Client({ name: 'agents-benchmark', version: '1.0.0' });
    // The SDK's own transport type does not fit its interface under exactOptionalPropertyTypes.
    await client.connect(transport);
    const { tools } = await client.listTools();
    return {
        instructions: client.getInstructions() ?? '',
        tools: tools.map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema })),
        meter,
        call: async (name, args) => {
            meter.calls++;
            const result = await client.callTool({ name, arguments: args }).catch((error) => ({
                content: [{ type: 'text', text: wordsOf(error) }],
                isError: true,
            }));
            const items = Array.isArray(result.content) ? result.content : [];
            const text = items.map((item) => (typeof item.text === 'string' ? item.text : '')).join('\n');
            meter.read += bytes(text);
            return { text, isError: result.isError === true };
        },
        close: () => client.close(),
    };
}
/**
 * The routes that every helpdesk's REST interface has. Left out is what exists for agents only: search, customer_find,
 * fetch, conversation_brief, gateway_context, access_explain, guides, capabilities.
 */
export const PLAIN_ROUTES = [
    ...['websites_list', 'channels', 'teams', 'operators', 'dispositions', 'offers', 'saved_responses', 'saved_links'],
    ...['contacts_list', 'contact_get', 'contact_notes', 'contact_visitors', 'visitor', 'visitor_conversations'],
    ...['visitor_notes', 'visitor_note_add', 'conversations_list', 'conversations_count', 'conversation'],
    ...['conversation_contacts', 'conversation_messages', 'conversation_message', 'conversation_message_attachments'],
    ...['file_get', 'conversation_disposition_set'],
];
/** What a team without an MCP server would write: each REST route is a tool, and its raw body is the answer. */
export async function openPlain(base, token) {
    const document = await (await fetch(`${base}/api/v1/openapi.json`)).json();
    /** Replaces references by what they name, because a tool's schema stands alone. */
    const resolved = (value) => {
        if (Array.isArray(value))
            return value.map(resolved);
        if (typeof value !== 'object' || value === null)
            return value;
        if (!('$ref' in value))
            return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolved(one)]));
        const steps = String(value.$ref).split('/').slice(1);
        return resolved(steps.reduce((at, step) => Object(at)[step], document));
    };
    const routes = Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods)
        .filter(([, { operationId }]) => PLAIN_ROUTES.includes(operationId))
        .map(([method, { operationId: name, summary, description, parameters = [], requestBody }]) => {
        const all = parameters.map((one) => resolved(one)); // the form that OpenAPI gives a parameter
        const body = Object(resolved(requestBody?.content['application/json']?.schema ?? {}));
        const properties = {
            ...Object.fromEntries(all.map((one) => [one.name, { ...one.schema, description: one.description }])),
            ...body.properties,
        };
        const required = [...all.filter((one) => one.required).map((one) => one.name), ...(body.required ?? [])];
        const inputSchema = { type: 'object', properties, required };
        return { name, path, method, all, offered: { name, description: description ?? summary ?? '', inputSchema } };
    }));
    const tools = routes.map(({ offered }) => offered);
    const meter = { ...newMeter(), opening: bytes(JSON.stringify({ tools })) };
    return {
        instructions: '',
        tools,
        meter,
        call: async (name, args) => {
            meter.calls++;
            const route = routes.find((one) => one.name === name);
            if (!route)
                return { text: `There is no tool ${name}.`, isError: true };
            const given = (where) => route.all.flatMap((one) => one.in === where && args[one.name] !== undefined ? [[one.name, String(args[one.name])]] : []);
            const path = given('path').reduce((at, [key, value]) => at.replace(`{${key}}`, encodeURIComponent(value)), route.path);
            const query = new URLSearchParams(given('query'));
            const rest = Object.entries(args).filter(([key]) => !route.all.some((one) => one.name === key));
            const body = route.method === 'post' ? JSON.stringify(Object.fromEntries(rest)) : undefined;
            const target = `${path}${query.size > 0 ? `?${query}` : ''}`;
            meter.sent += bytes(target) + bytes(body ?? '');
            try {
                const response = await fetch(`${base}${target}`, {
                    method: route.method.toUpperCase(),
                    headers: {
                        Authorization: `Bearer ${token}`,
                        ...Object.fromEntries(given('header')),
                        ...(body !== undefined && { 'Content-Type': 'application/json' }),
                    },
                    ...(body !== undefined && { body }),
                });
                const text = await response.text();
                meter.received += bytes(text);
                meter.read += bytes(text);
                return { text, isError: !response.ok };
            }
            catch (error) {
                return { text: wordsOf(error), isError: true };
            }
        },
        close: async () => undefined,
    };
}
//# sourceMappingURL=hosts.js.map