import { exampleCall, exampleToolArguments } from '../../../gateway/examples.js';
import { code, json2 } from '../highlight.js';
import { tabs } from '../tabs.js';
export function samples(tool, baseUrl) {
    const call = exampleCall(tool);
    const panels = tool.status === 101
        ? { JavaScript: code('In a browser', socket(call, baseUrl), 'typescript') }
        : {
            curl: code('Terminal', curl(tool, call, baseUrl), 'bash'),
            TypeScript: code('fetch', typescript(tool, call, baseUrl), 'typescript'),
            ...(tool.mcp && { MCP: code(`POST ${baseUrl}/mcp`, mcp(tool), 'json') }),
        };
    return tabs('request', 'Example request', panels);
}
/** A text in single quotes, for a shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
export function curl({ method }, { address, headers, body }, baseUrl) {
    const given = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
    return [
        `curl ${method === 'GET' ? '' : `-X ${method} `}"${baseUrl}${address}"`,
        '-H "Authorization: Bearer $TOKEN"',
        ...given,
        ...(body ? ['-H "Content-Type: application/json"', `-d ${quoted(json2(body))}`] : []),
    ].join(' \\\n  ');
}
/** A value as TypeScript: names without quotes, texts in single quotes. */
const literal = (value) => json2(value)
    .replace(/^(\s*)"(\w+)":/gm, '$1$2:')
    .replace(/"((?:[^"\\]|\\.)*)"/g, (_, text) => quoted(text));
const indented = (text, by) => text.replaceAll('\n', `\n${by}`);
export function typescript({ method, status }, { address, headers, body }, baseUrl) {
    const fields = [
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a program
        'Authorization: `Bearer ${process.env.TOKEN}`,',
        ...(body ? ["'Content-Type': 'application/json',"] : []),
        ...Object.entries(headers).map(([name, value]) => `'${name}': ${quoted(value)},`),
    ];
    return [
        `const response = await fetch('${baseUrl}${address}', {`,
        ...(method === 'GET' ? [] : [`  method: '${method}',`]),
        '  headers: {',
        ...fields.map((line) => `    ${line}`),
        '  },',
        ...(body ? [`  body: JSON.stringify(${indented(literal(body), '  ')}),`] : []),
        '});',
        'if (!response.ok) throw new Error((await response.json()).title);',
        ...(status === 204 ? [] : ['const answer = await response.json();']),
    ].join('\n');
}
const mcp = (tool) => json2({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: tool.name, arguments: exampleToolArguments(tool) },
});
const socket = ({ address }, baseUrl) => `const socket = new WebSocket('${baseUrl.replace(/^http/, 'ws')}${address}', [
  'igw.realtime.v1',
  \`ticket.\${ticket}\`,
]);
socket.onmessage = ({ data }) => console.log(JSON.parse(data));`;
//# sourceMappingURL=samples.js.map