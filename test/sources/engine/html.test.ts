import { compile } from 'html-to-text';
import { describe, expect, it } from 'vitest';
import { htmlToText } from '../../../src/sources/engine/html.ts';
import { shallow } from '../../../src/sources/engine/shallow.ts';
import { everyOnce, itOnce as test } from '../../support/form.ts';

/** A million characters. */
const fill = (unit: string, length = 1_000_000): string => unit.repeat(Math.floor(length / unit.length));

const MAIL = `<html><head><title>Subject</title><style>p { color: red }</style></head><body>
<!-- header --><h1>Hello &amp; welcome</h1><p>Dear <b>Ada</b>,<br>two &lt;lines&gt;.</p>
<table><tr><td>Order</td><td>17</td></tr><tr><td>Price</td><td>9&nbsp;€</td></tr></table>
<ul><li>one</li><li>two<ol><li>nested</li></ol></li></ul><hr><a href="https://example.org/a?b=1&amp;c=2">here</a>
<img src="x.png" alt="no"><pre>  kept
  as is</pre><div>On Monday, Grace wrote:<blockquote>first<blockquote>second<br>line</blockquote></blockquote></div>
</body></html>`;
const MAIL_TEXT = [
  'Hello & welcome\n\nDear Ada,\ntwo <lines>.\n\nOrder17Price9\u00a0€\n\n * one\n * two\n   1. nested',
  '----------------------------------------\n\nhere [https://example.org/a?b=1&c=2]\n\n  kept\n  as is',
  'On Monday, Grace wrote:\n\n> first\n> \n> > second\n> > line',
].join('\n\n');

test('an ordinary mail becomes the text that it always became, also after it was made shallow', () => {
  const plain = compile({ wordwrap: false, selectors: [{ selector: 'img', format: 'skip' }] });
  expect(htmlToText(MAIL)).toBe(MAIL_TEXT);
  expect(htmlToText(shallow(MAIL))).toBe(MAIL_TEXT);
  expect(plain(shallow(MAIL)).toLowerCase()).toBe(MAIL_TEXT.toLowerCase());
});

test.each([3_000, 100_000])('%d nested elements give their text', (depth) => {
  for (const name of ['b', 'span', 'td', 'font', 'div', 'a', 'p', 'svg'])
    expect(htmlToText(`one<p>${`<${name}>`.repeat(depth)}two${`</${name}>`.repeat(depth)}<p>three`)).toMatch(
      /^one\s+two\s+three$/,
    );
});

test('a quoted mail keeps its marks, and a mail that is quoted a thousand times keeps some of them', () => {
  const quoted = (depth: number): string => `${'<blockquote>'.repeat(depth)}text${'</blockquote>'.repeat(depth)}after`;
  expect(htmlToText(quoted(40))).toBe(`${'> '.repeat(40)}text\n\nafter`);
  expect(htmlToText(quoted(1_000))).toMatch(/^(> ){16}\s*text\s+after$/);
});

test('a list with an impossible start is numbered from 1, and one too long for Roman numerals with digits', () => {
  const list = (attributes: string, items: number): string => `<ol ${attributes}>${'<li>x</li>'.repeat(items)}</ol>`;
  expect(htmlToText(list('type=i start=99999', 2))).toBe(' 1. x\n 2. x');
  expect(htmlToText(list('type=a start=none', 2))).toBe(' 1. x\n 2. x');
  expect(htmlToText(list('type=i', 10_001))).toContain(' 10001. x');
});

test('texts that come together never make a tag, and the text of scripts stays hidden', () => {
  const wrapped = (html: string): string => `${'<i>'.repeat(300)}${html}`;
  expect(htmlToText(wrapped('a<<i>b>c'))).toBe('a<b>c');
  expect(htmlToText(wrapped('a<script>b<c></script>d<style>e</style>f'))).toBe('adf');
  expect(htmlToText(wrapped('a<!-- <p> -->b</br>c</p>d'))).toBe('ab\ncd');
});

const SHAPES: Readonly<Record<string, string>> = {
  'bold without an end': fill('<b>'),
  'blocks without an end': `${fill('<div>')}x`,
  'blocks with their ends': `${'<div>'.repeat(90_000)}x${'</div>'.repeat(90_000)}`,
  'quotes around lines': `${'<blockquote>'.repeat(1_000)}${fill('<br>l')}`,
  'quotes around paragraphs': `${'<blockquote>'.repeat(1_000)}${fill('<p>l')}`,
  'quotes around words': `${'<blockquote>'.repeat(250)}${fill('x ')}`,
  'quotes around rules': `${'<blockquote>'.repeat(20)}${fill('<hr>')}`,
  'quotes around preformatted lines': `${'<blockquote>'.repeat(200)}<pre>${fill('x\n')}`,
  ...Object.fromEntries(
    ['&#10x', '&#10;', '&#0010;', '&#xA;', '&#X0az', '&NewLine;'].map((sign) => [
      `lists around preformatted lines with ${sign}`,
      `${'<ul><li>'.repeat(16)}<pre>${sign.repeat(200_000)}`,
    ]),
  ),
  'lists in lists': fill('<ul><li>x'),
  'numbered lists in lists': fill('<ol start=9999 type=i><li>x'),
  'numbered lists around lines': `${'<ol start=9999><li>'.repeat(100)}${fill('<br>y')}`,
  'a list with Roman numerals': `<ol type=i>${fill('<li>x')}`,
  'tables in tables': fill('<table><tr><td>x'),
  'rows in a table': `${'<table><tr><td>'.repeat(60)}${fill('<tr><td>x')}`,
  'links in links': fill('<a href=x>w '),
  'links around words': `<a href=x><a href=y><a href=z>${fill('w ')}`,
  'links with their ends': fill('<a href=http://x>w</a> '),
  'attributes without an end': fill('<a "'),
  'one tag with many attributes': `<p ${fill('a=b ')}>x`,
  'one long attribute': `<a href="${fill('x')}">t</a>`,
  'signs of a tag': fill('<'),
  'signs of an entity': fill('&'),
  entities: fill('&amp;&notit;&#1114111;'),
  'comments without an end': fill('<!--'),
  'comments with their ends': fill('<!-- x -->y'),
  'scripts without an end': fill('<script>'),
  drawings: `<svg>${fill('<svg/>')}`,
  formulas: fill('<mi/>'),
  headings: `x${fill('<h1></h1>')}`,
  paragraphs: fill('<p>x'),
  'ends of paragraphs': fill('</p>'),
  'line breaks': fill('<br>'),
  'ends of elements that are not open': `${'<i>'.repeat(250)}${fill('</b>')}`,
  definitions: fill('<dt>x<dd>y'),
  bodies: fill('<body>x'),
  'a mixture': fill('<div><p><ul><li><blockquote><a href=x>w</blockquote></ul></div>'),
  'one word': fill('x'),
  blanks: `${fill(' ')}x`,
};

/** Seconds of processor time. Words in 250 quotes, the slowest shape, take 1.05 s on an idle machine. */
const SECONDS = 2;

const cpuSeconds = (work: () => unknown): number => {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
};

/** Seconds of processor time that REFERENCE takes on an idle machine. It does not use the code under test. */
const IDLE = 1;
const REFERENCE = (): void => {
  for (let n = 0; n < 20; n++) JSON.parse(JSON.stringify(fill('word ').split(' ')));
};
/** How much slower than idle the machine is now, at most three times. */
const slower = (): number => Math.min(3, Math.max(1, cpuSeconds(REFERENCE) / IDLE));

describe('a million characters take bounded time and room', () => {
  it.each(everyOnce(Object.entries(SHAPES), 6))('%s', (name, html) => {
    let text = '';
    const took = cpuSeconds(() => {
      text = htmlToText(html);
    });
    const seconds = took < SECONDS ? took : took / slower();
    console.info(`${name}: ${seconds.toFixed(2)} s, ${html.length} characters become ${text.length}`);
    expect(seconds).toBeLessThan(SECONDS);
    expect(text.length).toBeLessThan(2 * html.length + 200_000);
    expect(text).not.toContain('\0');
  });
});
