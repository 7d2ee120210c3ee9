import { Tokenizer } from 'htmlparser2';
/** Line breaks before and after each element that the converter puts on its own lines. It ignores other elements. */
const BREAKS = new Map([
    ...of(1, 'article aside body br div footer form header li main nav section'),
    ...of(2, 'blockquote h4 h5 h6 hr ol p pre table ul'),
    ...of(3, 'h1 h2 h3'),
]);
/** How many characters an element puts before each of its lines. A list indents its items. */
const INDENTS = new Map([...of(2, 'blockquote'), ...of(4, 'ol ul')]);
/** A line break, also as a character reference. A reference by number needs no semicolon. */
const LINE_BREAK = /\n|&#(?:0*10(?!\d)|[Xx]0*[Aa](?![\dA-Fa-f]))|&NewLine;/g;
/** The length of the rule that the converter writes for `hr`. */
const RULE = 40;
/** How many characters the converter may add to any HTML. To long HTML it may also add as many as the HTML has. */
const ALLOWANCE = 65_536;
/**
 * Counts the characters that converting adds at most: line breaks, indents, rules. Closing tags can add as many again.
 */
export class Growth {
    left;
    indent = 0;
    pre = 0;
    constructor(length) {
        this.left = length + ALLOWANCE;
    }
    get spent() {
        return this.left < 0;
    }
    open(name) {
        const breaks = BREAKS.get(name);
        if (breaks === undefined)
            return;
        this.left -= breaks * this.indent + (name === 'hr' ? RULE : 0);
        this.indent += INDENTS.get(name) ?? 0;
        if (name === 'pre')
            this.pre++;
    }
    close(name) {
        this.indent -= INDENTS.get(name) ?? 0;
        if (name === 'pre')
            this.pre--;
    }
    text(text) {
        if (this.pre === 0 || this.indent === 0)
            return;
        for (const _ of text.matchAll(LINE_BREAK))
            this.left -= this.indent;
    }
}
/** Beyond this, HTML loses its line breaks: each element takes the converter up to 4 µs (24 November 2026). */
export const ELEMENTS = 50_000;
/** The deepest nesting in shallow HTML: of all elements, and of quotes and lists. */
const NESTED = 100;
const INDENTED = 16;
/** Elements whose text is not shown on the page. */
const HIDDEN = new Set(['script', 'style']);
const ignore = () => undefined;
const IGNORED = {
    onattribdata: ignore,
    onattribentity: ignore,
    onattribend: ignore,
    onattribname: ignore,
    oncdata: ignore,
    oncomment: ignore,
    ondeclaration: ignore,
    onend: ignore,
    onprocessinginstruction: ignore,
    ontextentity: ignore,
};
/**
 * Rewrites HTML with a bounded nesting, in linear time. Keeps only elements that the converter knows, and closes them
 * in order. Leaves out elements that are too deep, but keeps their text. If quotes and lists add too many characters,
 * the rest of the text has none.
 */
export function shallow(html) {
    const out = [];
    const stack = [];
    const growth = new Growth(html.length);
    /** The open elements that are left out, by name. Their closing tags are left out too. */
    const beyond = new Map();
    let [indented, elements, tag, hidden, start] = [0, 0, '', '', 0];
    const leaveOut = (name) => {
        beyond.set(name, (beyond.get(name) ?? 0) + 1);
    };
    const pop = () => {
        const name = stack.pop() ?? '';
        if (INDENTS.has(name))
            indented--;
        growth.close(name);
        out.push(`</${name}>`);
        return name;
    };
    const endIndents = () => {
        if (growth.spent)
            while (indented > 0)
                leaveOut(pop());
    };
    const breakLine = (name) => {
        if (++elements > ELEMENTS) {
            out.push(' ');
            return;
        }
        growth.open(name);
        out.push(name === 'hr' && !growth.spent ? '<hr>' : '<br>');
        endIndents();
    };
    const open = (name, end) => {
        const breaks = BREAKS.get(name);
        if (breaks === undefined && name !== 'a')
            return;
        if (name === 'br' || name === 'hr') {
            breakLine(name);
            return;
        }
        const top = stack.at(-1);
        if ((top === 'p' && name !== 'a') || (top === 'li' && name === 'li'))
            pop();
        const tooDeep = stack.length >= NESTED || (INDENTS.has(name) && (indented >= INDENTED || growth.spent));
        const alone = name === 'li' && indented === 0;
        if (tooDeep || alone || elements >= ELEMENTS || (name === 'a' && stack.includes('a'))) {
            leaveOut(name);
            if (breaks !== undefined)
                breakLine('br');
            return;
        }
        elements++;
        stack.push(name);
        if (INDENTS.has(name))
            indented++;
        growth.open(name);
        // Only a link needs its attributes.
        out.push(name === 'a' ? html.slice(start, end + 1) : `<${name}>`);
        endIndents();
    };
    const close = (name) => {
        const left = beyond.get(name) ?? 0;
        if (left > 0)
            beyond.set(name, left - 1);
        else if (name === 'br')
            breakLine(name);
        else if (stack.includes(name))
            while (pop() !== name)
                ;
    };
    const nameAt = (from, end) => html.slice(from, end).toLowerCase();
    const callbacks = {
        ...IGNORED,
        onopentagname: (from, end) => {
            [tag, start] = [nameAt(from, end), from - 1];
        },
        onopentagend: (end) => {
            if (HIDDEN.has(tag))
                hidden = tag;
            open(tag, end);
        },
        onselfclosingtag: (end) => open(tag, end),
        onclosetag: (from, end) => {
            const name = nameAt(from, end);
            if (name === hidden)
                hidden = '';
            close(name);
        },
        ontext: (from, end) => {
            if (hidden !== '')
                return;
            const text = html.slice(from, end);
            growth.text(text);
            endIndents();
            // Two texts that become adjacent must not form a tag.
            out.push(text.replaceAll('<', '&lt;'));
        },
    };
    const tokenizer = new Tokenizer({ decodeEntities: false }, callbacks);
    tokenizer.write(html);
    tokenizer.end();
    return out.join('');
}
function of(value, names) {
    return names.split(' ').map((name) => [name, value]);
}
//# sourceMappingURL=shallow.js.map