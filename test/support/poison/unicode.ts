import { across, of, type Poison } from './poison.ts';

const letters = (from: number, count: number): string =>
  Array.from({ length: count }, (_, n) => String.fromCodePoint(from + n)).join('');

/** Characters that programs count, cut, fold, show or store in a wrong way. */
const TRAPS: Readonly<Record<string, string>> = {
  'a NUL': 'a\u0000b',
  'a high surrogate alone': 'a\ud83db',
  'a low surrogate alone': 'a\ude00b',
  'surrogates in the wrong order': '\ude00\ud83d',
  'a surrogate at the end': 'end \ud83d',
  'overrides of direction': '\u202egnp.exe\u202d \u2066a\u2069 \u200f\u200e\u061c',
  'isolates that never end': '\u2067'.repeat(500),
  'letters without width': 'a\u200bb\u200cc\u200dd\u2060e\ufeff',
  'a byte order mark at the start': '\ufeffa',
  'a byte order mark of the other order': '\ufffea',
  'characters that are none': '\ufffe\uffff\u{1fffe}\u{10ffff}\ufdd0',
  'letters for private use': '\ue000\uf8ff\u{f0000}\u{10fffd}',
  'tags that hide letters': `a${letters(0xe0041, 26)}\u{e007f}`,
  'a ligature that becomes 18 letters': '\ufdfa'.repeat(10),
  'a Turkish i': 'İstanbul ıI iİ I\u0307',
  'a sharp s and its capital': 'straße STRASSE ẞ',
  ligatures: 'ﬁﬂﬃ Ǆǅǆ Ĳ',
  'Hangul in parts': '\u1112\u1161\u11ab\u1100\u1173\u11af 한글',
  'Greek with a final sigma': 'ΣΊΣΥΦΟΣ σίσυφος ᾳ ᾼ',
  'Thai and Khmer without blanks': 'สวัสดีครับผมชื่อ ជំរាបសួរ',
  'Devanagari and Tamil': 'क्ष्म्य श्री க்ஷௌ',
  'Arabic that joins': 'السلام عليكم ـــــ ﷽',
  'Hebrew with points': 'שָׁלוֹם',
  'Han outside of the first plane': '𠀀𠮷𪚥 你好',
  'Japanese in half width': 'ﾊﾝｶｸ ＺＥＮ',
  'a family of emoji': '👩‍👩‍👧‍👦 👨🏿‍🚀 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪🇩',
  'a chain of 100 emoji': Array(100).fill('👩').join('\u200d'),
  'astral letters': '𝕳𝖊𝖑𝖑𝖔 𝟙𝟚𝟛 🅰',
  'combining marks without a letter': '\u0301\u0302\u0303',
  '200 combining marks on a letter': `e${'\u0301'.repeat(200)}`,
  'marks in every order': 'a\u0323\u0307 a\u0307\u0323 ậ',
  'line ends of Unicode': 'a\u2028b\u2029c\u0085d\u000be\u000cf',
  'all control characters of ASCII but NUL': letters(1, 31),
  'all control characters of Latin-1': letters(0x7f, 33),
  'blanks of every width': 'a\u00a0b\u2003c\u3000d\u1680e\u202ff\u205fg',
  'a Mongolian separator and fillers': 'a\u180eb\u115fc\u3164d\uffa0e',
  'variation selectors': 'a\ufe0f\u{e0100}\u{e01ef}b\ufe0e',
  'interlinear annotations': '\ufff9a\ufffab\ufffb \ufffc \ufffd',
  'Latin-1 read as UTF-8': 'cafÃ© â‚¬ Ã¢â‚¬â„¢',
  'digits of other scripts': '١٢٣ ۴۵۶ १२३ ①②③ ½ Ⅷ',
  'musical symbols that normalize': '\u{1d15e}\u{1d15f}\u{1d160}',
};

const long = of('unicode', 'message.text', {
  '10,000 combining marks on a letter': `a${'\u0301'.repeat(10_000)}b`,
  '100,000 combining marks': '\u0488'.repeat(100_000),
  'a ligature that becomes 900,000 letters': '\ufdfa'.repeat(50_000),
  '300,000 fillers of Hangul': '\u3164'.repeat(300_000),
  '300,000 letters without width': `a${'\u200b'.repeat(300_000)}b`,
  'a chain of 50,000 emoji': Array(50_000).fill('👩').join('\u200d'),
  '300,000 astral letters': '𠀀'.repeat(300_000),
  '200,000 Turkish capitals': 'İ'.repeat(200_000),
  '50,000 marks of direction': '\u202e\u202d'.repeat(25_000),
  '60,000 Han letters': '漢字'.repeat(30_000),
  '100,000 letters of Thai': 'สวัสดี'.repeat(16_000),
  'Hangul in 150,000 parts': '\u1112\u1161\u11ab'.repeat(50_000),
  '100,000 flags': '\u{1f1e6}'.repeat(100_000),
  'all letters of the first plane': letters(0x20, 0xd7df) + letters(0xe000, 0x1fff),
});

const crossed = across('unicode', ['message.text', 'contact.name'], TRAPS);
const pick = (names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, TRAPS[name] ?? '']));
const elsewhere = across(
  'unicode',
  ['conversation.subject', 'note.text', 'file.name', 'operator.name'],
  pick(['a NUL', 'a surrogate at the end', 'overrides of direction', 'tags that hide letters', 'line ends of Unicode']),
);

export const unicode: readonly Poison[] = [...crossed, ...long, ...elsewhere];
