import { lines, MILLION, of, type Place, type Poison } from './poison.ts';

const TEXTS: readonly Place[] = [
  'message.text',
  'message.html',
  'message.attributes',
  'note.text',
  'contact.name',
  'contact.last_name',
  'contact.email',
  'contact.phone',
  'contact.company',
  'contact.country',
  'conversation.subject',
  'conversation.language',
  'conversation.rating',
  'channel.name',
  'channel.type',
  'team.name',
  'operator.name',
  'saved_response.content',
  'saved_response.label',
  'file.name',
  'file.media_type',
  'saved_link.url',
  'line',
];

const everywhere = TEXTS.flatMap((at) => of('texts', at, { 'a million letters': 'x'.repeat(MILLION) }));
const words = (count: number): string => lines(count, (n) => `w${n.toString(36)}`);

const said = of('texts', 'message.text', {
  'a quoted mail of 10,000 lines': lines(10_000, (n) => `> line ${n}`),
  'a quoted mail of 10,000 lines and 50 levels': lines(10_000, (n) => `${'>'.repeat(n % 50)} line ${n}`),
  'a million and one letters': 'x'.repeat(MILLION + 1),
  'a million blanks': ' '.repeat(MILLION),
  '500,000 blanks before a letter': `a${' '.repeat(500_000)}b`,
  'a million line ends': '\n'.repeat(MILLION),
  '150,000 different words': words(150_000),
  '450,000 words of one letter': 'a '.repeat(450_000),
  '300 words of 3,000 letters': lines(300, (n) => String(n).repeat(1_000)),
  '90,000 points between letters': 'a.'.repeat(90_000),
  '90,000 signs of an address': 'a@'.repeat(90_000),
  '50,000 starts of addresses': 'http://'.repeat(50_000),
  '100,000 slashes': '/a'.repeat(100_000),
  '300,000 hyphens': 'a-'.repeat(150_000),
  '100,000 digits': '12345'.repeat(20_000),
  'a number of 50,000 groups': '1.234,'.repeat(50_000),
  '100,000 brackets of Markdown': '['.repeat(100_000),
  '50,000 links of Markdown': '[a](b)'.repeat(50_000),
  '100,000 stars of Markdown': '*_'.repeat(50_000),
  '10,000 levels of quotation': '>'.repeat(10_000),
  '100,000 backticks': '`'.repeat(100_000),
  '30,000 rows of a Markdown table': '|a|b|\n'.repeat(30_000),
  '20,000 openings of a fence': '<<<end 0123456789abcdef>>>'.repeat(20_000),
  '200,000 opening brackets': '<'.repeat(200_000),
  '60,000 brackets as entities': '&lt;'.repeat(60_000),
  '60,000 brackets in percent': '%3C%253c'.repeat(30_000),
  '60,000 brackets with hidden letters': '<\u200b'.repeat(60_000),
  '200,000 starts of tags': '<a '.repeat(200_000),
  'a file of a sheet': lines(5_000, (n) => `=1+${n},"+2",-3,@x`),
  'the words of a query': 'a & b | !c <-> (d:* <2> e) :A',
  SQL: "'; DROP SCHEMA platform CASCADE; -- /* \\",
  'a log line': 'ok\n{"level":"error","msg":"forged"}\r\nHTTP/1.1 200 OK\r\n\r\n',
  'a formula': "=cmd|' /C calc'!A0",
  'one letter': 'x',
  'only a NUL': '\u0000',
});

const others = [
  ...of('texts', 'note.text', {
    'exactly the longest note': 'x'.repeat(200_000),
    'one letter too many': 'x'.repeat(200_001),
    nothing: '',
    'a thousand fences': '<<<data 0123456789abcdef>>>'.repeat(1_000),
  }),
  ...of('texts', 'saved_response.content', {
    'exactly the longest response': 'x'.repeat(200_000),
    'one letter too many': 'x'.repeat(200_001),
  }),
  ...of('texts', 'conversation.subject', {
    'a header of a mail': 'Subject\r\nBcc: all@evil.example\r\n\r\nbody',
    '2,001 letters': 's'.repeat(2_001),
    '2,000 astral letters': '😀'.repeat(2_000),
  }),
];

export const texts: readonly Poison[] = [...everywhere, ...said, ...others];
