import { initializeParams } from './mcp.js';
import { message } from './rpc.js';
/** MCP requests that cost one unit but call no tool. Each has a name and the status while there is quota. */
export const PAYING = [
    ['initialize', 200, message('initialize', initializeParams())],
    ['ping', 200, message('ping')],
    ['tools/list', 200, message('tools/list')],
    ['resources/list', 200, message('resources/list')],
    ['resources/templates/list', 200, message('resources/templates/list')],
    ['resources/read', 200, message('resources/read', { uri: 'gateway://context' })],
    ['resources/read of nothing', 200, message('resources/read', { uri: 'gateway://x' })],
    ['resources/read of a skill', 200, message('resources/read', { uri: 'skill://overview/SKILL.md' })],
    ['skills/list', 200, message('skills/list')],
    ['skills/get', 200, message('skills/get', { uri: 'skill://overview/SKILL.md' })],
    ['skills/get of nothing', 200, message('skills/get', { uri: 'skill://x/SKILL.md' })],
    ['prompts/list', 200, message('prompts/list')],
    ['prompts/get of nothing', 200, message('prompts/get', { name: 'x' })],
    ['an unknown method', 200, message('x')],
    ['bad params', 200, message('tools/call')],
    ['no tool', 200, message('tools/call', { name: 'x' })],
    ['a notification', 202, '{"jsonrpc":"2.0","method":"notifications/initialized"}'],
    ['a response', 202, '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['no JSON', 400, '{'],
    ['a batch', 400, '[]'],
    ['too many bytes', 400, ' '.repeat(65_537)],
    ['a version', 400, message('ping'), { version: 'x' }],
    ['Accept', 406, message('ping'), { headers: { accept: 'text/html' } }],
    ['Content-Type', 415, message('ping'), { headers: { 'content-type': 'text/plain' } }],
];
//# sourceMappingURL=mcp-paying.js.map