import { readFileSync } from 'node:fs';
import { packageRoot } from '../../../src/config/package.js';
export function commandsOf(document) {
    const lines = readFileSync(new URL(document, packageRoot), 'utf8').split('\n');
    const commands = [];
    let inside = false;
    let open;
    for (const [i, line] of lines.entries()) {
        const fence = /^\s*```(\w*)(?: .*)?$/.exec(line);
        if (fence) {
            if (inside && open)
                throw new Error(`${document}:${open.line} has a command without an end`);
            inside = !inside && fence[1] === 'sh';
        }
        else if (inside && (open || line.trim() !== '')) {
            open ??= { line: i + 1, lines: [] };
            open.lines.push(line);
            const text = open.lines.join('\n');
            if (!complete(text))
                continue;
            // The gateway of `npm start` runs until it is stopped, so this line is two commands.
            const each = text === 'npm ci && npm start' ? text.split(' && ') : [text];
            for (const one of each)
                commands.push({ document, line: open.line, text: one });
            open = undefined;
        }
    }
    return commands;
}
/** True if a shell would run the text without waiting for another line. */
function complete(text) {
    const [, end] = /<<'?(\w+)'?/.exec(text) ?? [];
    if (end !== undefined)
        return text.endsWith(`\n${end}`);
    let quote = '';
    for (let at = 0; at < text.length; at++) {
        const char = text[at] ?? '';
        if (quote === '' && char === '#' && /\s/.test(text[at - 1] ?? ' ')) {
            const newline = text.indexOf('\n', at);
            at = newline === -1 ? text.length : newline;
        }
        else if (char === '\\' && quote !== "'")
            at++;
        else if (quote === '' && /["']/.test(char))
            quote = char;
        else if (char === quote)
            quote = '';
    }
    return quote === '' && !text.endsWith('\\');
}
//# sourceMappingURL=blocks.js.map