import { pickFrom } from '../random.js';
/** All texts come from `random`, so the same seed gives the same texts. */
const WORDS = 'order parcel invoice refund please thanks hello account password broken late where when cannot size blue'.split(' ');
const OTHERS = [
    '😀🚚 danke schön',
    'أين طلبي؟ لم يصل بعد',
    'שלום, ההזמנה לא הגיעה',
    '注文はどこですか',
    "Ünïcödé — “quotes” 'single' \\ backslash",
    '👩‍👩‍👧‍👦 a family of four code points',
    '{"json": "in a text"}',
    'line one\nline two\r\nline three\ttab',
];
const NAMES = ['Ada', 'Grace', 'Zoë', 'José', 'محمد', '小明', "O'Brien", 'Łukasz', 'Nguyễn', 'Anne-Marie'];
export const whole = (random, below) => Math.floor(random() * below);
export const chance = (random, share) => random() < share;
/** 100 kB. */
export const longText = (random) => `${'a long text, '.repeat(8_000)}${whole(random, 1e9)}`;
export function sentence(random) {
    if (chance(random, 0.15))
        return pickFrom(OTHERS, random);
    return Array.from({ length: 2 + whole(random, 18) }, () => pickFrom(WORDS, random)).join(' ');
}
export const personName = (random) => `${pickFrom(NAMES, random)} ${whole(random, 1e6)}`;
export function html(random) {
    const link = `<a href="https://example.com/o/${whole(random, 1e6)}">your order</a>`;
    return `<html><body><h1>Re: ${pickFrom(WORDS, random)}</h1><p>${sentence(random)} &amp; more</p><ul><li>one</li><li>${link}</li></ul><img src="cid:1"></body></html>`;
}
export const fileNames = ['photo.png', 'Rechnung Nr. 7.pdf', 'صورة.jpg', 'voice 1.ogg', 'a.tar.gz', '写真😀.heic'];
export const mediaTypes = [
    'image/png',
    'application/pdf',
    'image/jpeg',
    'audio/ogg; codecs=opus',
    'text/plain;charset=utf-8',
    null,
];
//# sourceMappingURL=words.js.map