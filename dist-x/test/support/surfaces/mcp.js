import { expect } from 'vitest';
import { endpoint } from './rpc.js';
export const PREFERRED = '2025-11-25';
export const MODERN = '2026-07-28';
/** What the gateway offers, in the answers to `initialize` and `server/discover`. */
export const OFFERED = {
    tools: {},
    resources: {},
    prompts: {},
    extensions: { 'io.modelcontextprotocol/skills': {} },
};
/** What `server/discover` offers too. */
export const OFFERED_NOW = {
    ...OFFERED,
    extensions: { ...OFFERED.extensions, 'io.modelcontextprotocol/events': { listChanged: false } },
};
/** The `_meta` that every request of MCP 2026-07-28 must have. */
export const ENVELOPE = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
};
export const { post, rpc } = endpoint({
    path: '/mcp',
    headers: { accept: 'application/json, text/event-stream' },
    version: ['mcp-protocol-version', PREFERRED],
});
/** Sends one request of MCP 2026-07-28, with the headers and the `_meta` of this version. */
export function modern(port, token, method, params = {}, options = {}) {
    const name = method === 'resources/read' ? params['uri'] : params['name'];
    const named = ['tools/call', 'prompts/get', 'resources/read'].includes(method) && typeof name === 'string';
    return rpc(port, token, method, { _meta: ENVELOPE, ...params }, {
        version: MODERN,
        ...options,
        headers: { 'mcp-method': method, ...(named && { 'mcp-name': name }), ...options.headers },
    });
}
export const initializeParams = (protocolVersion = PREFERRED) => ({
    protocolVersion,
    capabilities: {},
    clientInfo: { name: 'test', version: '1.0.0' },
});
export const toolOf = ({ corridor }, name) => corridor.registry.get(name) ?? expect.fail(`no tool ${name}`);
/** Turns a REST address into the arguments of a tool, without the product's code for REST addresses. */
export function argumentsOf({ path, parameters }, url) {
    const { pathname, searchParams } = new URL(url, 'http://gateway');
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const values = new RegExp(`^${path.replace(/\{\w+\}/g, '([^/]+)')}$`).exec(pathname)?.slice(1) ?? [];
    const typed = (name, value) => {
        const type = parameters.find((one) => one.name === name)?.type;
        if (type === 'integer' && /^\d+$/.test(value))
            return Number(value);
        return type === 'boolean' && /^(true|false)$/.test(value) ? value === 'true' : value;
    };
    return Object.fromEntries([
        ...names.map((name, index) => [name, values[index]]),
        ...[...searchParams].map(([name, value]) => [name, typed(name, value)]),
    ]);
}
//# sourceMappingURL=mcp.js.map