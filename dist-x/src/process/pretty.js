import { styleText } from 'node:util';
import { plain } from '../cli/output.js';
const COLOURS = {
    warn: 'yellow',
    error: 'red',
    fatal: 'red',
    debug: 'dim',
    trace: 'dim',
};
/** Members that a request line shows in its sentence. */
const SENTENCE = ['level', 'time', 'msg', 'err', 'method', 'path', 'operation', 'status', 'ms', 'request_id'];
/**
 * Turns a JSON line of the log into one line for a person: local time, level, message, then `name=value`. The frames of
 * an error follow on lines of their own.
 */
export function prettyLine(json, colours) {
    const styled = (style, text) => (colours ? styleText(style, text) : text);
    const entry = Object(JSON.parse(json));
    const { level, time, msg, err, method, path, operation, status, ms, request_id: id } = entry;
    const isRequest = msg === 'request' && status !== undefined;
    const said = isRequest ? requestSentence(status, method, path, operation) : text(msg);
    const colour = COLOURS[text(level)] ?? (isRequest && Number(status) >= 400 ? 'yellow' : undefined);
    const rest = Object.entries(entry)
        .filter(([name]) => !SENTENCE.includes(name) || (!isRequest && !['level', 'time', 'msg', 'err'].includes(name)))
        .map(([name, value]) => `${name}=${text(value)}`);
    const line = [
        styled('dim', new Date(text(time)).toTimeString().slice(0, 8)),
        ...(level === 'info' ? [] : [styled(colour ?? 'bold', text(level))]),
        colour === undefined ? said : styled(colour, said),
        ...(isRequest && ms !== undefined ? [styled('dim', `${text(ms)} ms`)] : []),
        ...(rest.length > 0 ? [styled('dim', rest.join(' '))] : []),
        ...(isRequest && id !== undefined ? [styled('dim', text(id))] : []),
    ].join('  ');
    const { kind, code, stack = [] } = Object(err);
    const error = err === undefined ? [] : [[kind, code].filter(Boolean).map(text).join(' '), ...[stack].flat().map(text)];
    return [line, ...error.map((one) => `    ${one.trim()}`)].join('\n');
}
/** The log never has a path that a client has made up. For such a path, the sentence has the words `unknown path`. */
function requestSentence(status, method, path, operation) {
    if (method === undefined)
        return `${text(status)} no readable request`;
    const named = [path, operation].filter((one) => one !== undefined && one !== 'none');
    return [status, method, ...(named.length === 0 && status === 404 ? ['unknown path'] : named)].map(text).join(' ');
}
/** The text of a value without control characters, which could change the terminal. */
const text = (value) => plain(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
//# sourceMappingURL=pretty.js.map