import { lines, MILLION, of, type Poison } from './poison.ts';

const nested = (tag: string, depth: number, inside = 'x'): string =>
  `${`<${tag}>`.repeat(depth)}${inside}${`</${tag}>`.repeat(depth)}`;
const cells = (rows: number, columns: number): string =>
  `<table>${`<tr>${'<td>c</td>'.repeat(columns)}</tr>`.repeat(rows)}</table>`;

/** Deep trees: a recursive parser or converter overflows its stack. */
const deep = of('html', 'message.html', {
  '3,000 nested <b>': nested('b', 3_000),
  '30,000 nested <b>': nested('b', 30_000),
  '100,000 nested <i>': nested('i', 100_000),
  '20,000 nested <div>': nested('div', 20_000),
  '5,000 nested <p>': nested('p', 5_000),
  '10,000 nested <span> with attributes': `${'<span style="color:red">'.repeat(10_000)}x`,
  '1,000 nested <blockquote> around 9,600 lines': `${'<blockquote>'.repeat(1_000)}${'a<br>'.repeat(9_600)}`,
  '300 nested <blockquote> around 1,000 lines': nested('blockquote', 300, 'a<br>'.repeat(1_000)),
  '5,000 nested <blockquote>': nested('blockquote', 5_000),
  '3,000 nested lists': nested('ul><li', 3_000).replaceAll('</ul><li>', '</li></ul>'),
  '2,000 nested ordered lists around 500 lines': nested('ol', 2_000, '<li>a</li>'.repeat(500)),
  '2,000 nested tables': nested('table', 2_000),
  '1,000 nested tables with rows and cells': `${'<table><tr><td>a</td><td>'.repeat(1_000)}x`,
  '1,500 nested inline and block elements in turn': `${'<div><b>'.repeat(1_500)}x${'</b></div>'.repeat(1_500)}`,
  '3,000 nested links': `${'<a href="https://a.example/">'.repeat(3_000)}x`,
  '3,000 nested headings': nested('h1', 3_000),
  '20,000 nested elements that do not exist': nested('zzz', 20_000),
  '5,000 nested <svg>': nested('svg', 5_000),
  '5,000 nested <template>': nested('template', 5_000),
  '3,000 nested <font> in each of 5 paragraphs': `<p>${nested('font', 3_000)}</p>`.repeat(5),
  '100,000 tags that never close': '<b>'.repeat(100_000),
  '100,000 tags that close nothing': '</b>'.repeat(100_000),
  'an e-mail quoted 400 times, each with 20 lines': `${`<blockquote>${'line<br>'.repeat(20)}`.repeat(400)}`,
});

/** Wide trees, and elements whose text is longer than their source. */
const wide = of('html', 'message.html', {
  '50,000 paragraphs': '<p>a</p>'.repeat(50_000),
  '150,000 line breaks': '<br>'.repeat(150_000),
  'a table of 100,000 cells in one row': cells(1, 90_000),
  'a table of 300 rows and 300 columns': cells(300, 300),
  'a cell that spans a billion columns and rows':
    '<table><tr><td colspan="1000000000" rowspan="1000000000">a</td></tr></table>',
  'a data table with a huge span': '<table class="data"><tr><td colspan="99999999">a</td><td>b</td></tr></table>',
  'a Roman list from a billion': '<ol type="I" start="1000000000"><li>a</li><li>b</li></ol>',
  'a Roman list from 100,000': '<ol type="I" start="100000"><li>a</li></ol>',
  'a lettered list from 1e15': '<ol type="a" start="999999999999999"><li>a</li></ol>',
  'a list from a number without end': '<ol start="1e999"><li>a</li></ol>',
  'a list from a negative number': '<ol type="i" start="-5"><li>a</li></ol>',
  '20,000 list items with long numbers': `<ol start="999999999999">${'<li>a</li>'.repeat(20_000)}</ol>`,
  '10,000 links': '<a href="https://a.example/path">link</a> '.repeat(10_000),
  'a link of 900,000 letters': `<a href="https://a.example/${'a'.repeat(900_000)}">a</a>`,
  '10,000 images': '<img src="cid:a" alt="picture">'.repeat(10_000),
  'an image inside the text': `<img src="data:image/png;base64,${'QUJD'.repeat(100_000)}"><p>a</p>`,
  '30,000 rules': '<hr>'.repeat(30_000),
  '900,000 letters in <pre>': `<pre>${'a '.repeat(450_000)}</pre>`,
  '10,000 headings': '<h1>a</h1>'.repeat(10_000),
  'a word of 900,000 letters': `<p>${'a'.repeat(900_000)}</p>`,
  '900,000 blanks': `<p>a${' '.repeat(900_000)}b</p>`,
  '150,000 blanks that do not break': `<p>${'&nbsp;'.repeat(150_000)}a</p>`,
  '9,999 lines of a quoted mail': `<div>${lines(9_999, (n) => `&gt; line ${n}<br>`)}</div>`,
});

/** Texts that are no HTML, or that a parser reads twice. */
const broken = of('html', 'message.html', {
  'a comment that never ends': `<p>a</p><!-- ${'b '.repeat(100_000)}`,
  '50,000 starts of comments': '<p>a</p>'.concat('<!--'.repeat(50_000)),
  'a script that never ends': `<p>a</p><script>${'alert(1);'.repeat(50_000)}`,
  'a style that never ends': `<p>a</p><style>${'a{b:c}'.repeat(50_000)}`,
  'a CDATA section that never ends': `<p>a</p><![CDATA[${'x'.repeat(100_000)}`,
  'an attribute of 800,000 letters': `<p title="${'a'.repeat(800_000)}">a</p>`,
  '100,000 attributes': `<p ${'a=b '.repeat(100_000)}>a</p>`,
  'a quotation mark that never closes': `<p>a</p><a href="${'b'.repeat(500_000)}`,
  '200,000 opening brackets': `<p>a</p>${'<'.repeat(200_000)}`,
  '200,000 closing brackets': `<p>a</p>${'>'.repeat(200_000)}`,
  '50,000 starts of tags with blanks': `<p>a</p>${'<a '.repeat(50_000)}`,
  '100,000 entities': `<p>${'&amp;'.repeat(100_000)}</p>`,
  '300,000 ampersands': `<p>${'&'.repeat(300_000)}</p>`,
  'entities that are no characters': '<p>&#0; &#xD800; &#xDFFF; &#x110000; &#99999999999999999999; &#xFFFE; &zzz;</p>',
  'control characters as entities': '<p>&#27;[31m &#x9b;2J &#7; &#8; &#127; &#133;</p>',
  'an entity bomb of XML': `<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;&b;">]><p>${'&c;'.repeat(1_000)}</p>`,
  'processing instructions': `<p>a</p>${'<?php echo 1; ?>'.repeat(20_000)}`,
  'tables with no table': `${'</td></tr></table><td><tr>'.repeat(10_000)}`,
  'a form': `<form action="https://evil.example/">${'<input name="a" value="b">'.repeat(5_000)}</form><p>a</p>`,
  'addresses that run':
    '<a href="javascript:alert(1)">a</a><a href="data:text/html,<script>">b</a><base href="//evil.example">',
  'letters that look like a tag': '<p>a</p>＜script＞alert(1)＜/script＞ ‹b› &lt;script&gt;',
  'a text that is longer than the import accepts': `<p>${'a '.repeat(MILLION / 2)}</p>`,
});

export const html: readonly Poison[] = [...deep, ...wide, ...broken];
