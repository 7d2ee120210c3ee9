import { compile } from 'html-to-text';
import { Parser } from 'htmlparser2';
import { ELEMENTS, Growth, shallow } from './shallow.ts';

/**
 * The deepest nesting of elements that is converted as it is. The converter and its parser need time and stack by depth:
 * 3,000 nested elements overflowed the stack, and 333,000 took the parser 57 s (24 November 2026).
 */
const DEPTH = 256;
/** The deepest nesting of links. For each link around a word, the converter keeps the word once more. */
const LINKS = 3;
/** The parser has a list of these elements that only grows, and the list makes it slow. */
const FOREIGN = new Set('svg math mi mo mn ms mtext annotation-xml foreignobject desc title'.split(' '));
const FOREIGN_MOST = 1_000;
/** The converter writes other starts of a numbered list as "NaN", as U+0000, or throws. */
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
 * Converts HTML to plain text. Time and output grow with the length of the HTML, whatever it holds. HTML that would take
 * more is first made shallow. `test/sources/engine/html.test.ts` holds the text of a million characters below twice the
 * characters of the HTML and 200,000 more.
 */
export function htmlToText(html: string): string {
  if (!isTame(html)) return convert(shallow(html));
  try {
    return convert(html);
  } catch {
    // For example, the converter cannot write the number 10,000 in Roman numerals.
    return convert(shallow(html));
  }
}

/** True if the converter needs no more than linear time and room for this HTML. */
function isTame(html: string): boolean {
  const growth = new Growth(html.length);
  let [depth, elements, links, foreign] = [0, 0, 0, 0];
  let tame = true;
  const parser = new Parser({
    onopentagname: (name) => {
      depth++;
      elements++;
      if (name === 'a') links++;
      else if (FOREIGN.has(name)) foreign++;
      growth.open(name);
      const many = elements > ELEMENTS || links > LINKS || foreign > FOREIGN_MOST;
      if (many || depth > DEPTH || growth.spent) end();
    },
    onattribute: (name, value) => {
      if (name === 'start' && !START.test(value)) end();
    },
    onclosetag: (name) => {
      depth--;
      if (name === 'a') links--;
      growth.close(name);
    },
    ontext: (text) => {
      growth.text(text);
      if (growth.spent) end();
    },
  });
  function end(): void {
    tame = false;
    parser.pause();
  }
  parser.end(html);
  return tame;
}
