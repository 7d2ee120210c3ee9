import { compile } from 'html-to-text';
import { Parser } from 'htmlparser2';
import { ELEMENTS, Growth, shallow } from './shallow.js';
/**
 * Deeper HTML is made shallow first. Converter and parser need time and stack by depth: 3,000 nested elements
 * overflowed the stack, and 333,000 took the parser 57 s (24 November 2026).
 */
const DEPTH = 256;
/** HTML with deeper links is made shallow first. The converter copies a word once for each link around it. */
const LINKS = 3;
/** The parser keeps a list of these elements that only grows, and a long list makes the parser slow. */
const FOREIGN = new Set('svg math mi mo mn ms mtext annotation-xml foreignobject desc title'.split(' '));
const FOREIGN_MOST = 1_000;
/** For other start numbers of a list, the converter writes "NaN" or U+0000, or throws. */
const START = /^\d{1,4}$/;
const convert = compile({
    wordwrap: false,
    selectors: [
        { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
        { selector: 'img', format: 'skip' },
        ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
    ],
});
/**
 * Converts HTML to plain text. Time and output grow linearly with the length of any HTML. HTML that would take more is
 * first made shallow. `test/sources/engine/html.test.ts` holds the text of a million characters of HTML below twice
 * that length plus 200,000.
 */
export function htmlToText(html) {
    if (!isTame(html))
        return convert(shallow(html));
    try {
        return convert(html);
    }
    catch {
        // The converter can still fail: it cannot write the number 10,000 in Roman numerals.
        return convert(shallow(html));
    }
}
/** True if the converter needs at most linear time and memory for this HTML. */
function isTame(html) {
    const growth = new Growth(html.length);
    let [depth, elements, links, foreign] = [0, 0, 0, 0];
    let tame = true;
    const parser = new Parser({
        onopentagname: (name) => {
            depth++;
            elements++;
            if (name === 'a')
                links++;
            else if (FOREIGN.has(name))
                foreign++;
            growth.open(name);
            const many = elements > ELEMENTS || links > LINKS || foreign > FOREIGN_MOST;
            if (many || depth > DEPTH || growth.spent)
                end();
        },
        onattribute: (name, value) => {
            if (name === 'start' && !START.test(value))
                end();
        },
        onclosetag: (name) => {
            depth--;
            if (name === 'a')
                links--;
            growth.close(name);
        },
        ontext: (text) => {
            growth.text(text);
            if (growth.spent)
                end();
        },
    });
    function end() {
        tame = false;
        parser.pause();
    }
    parser.end(html);
    return tame;
}
//# sourceMappingURL=html.js.map