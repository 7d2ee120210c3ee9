import { across, of } from './poison.js';
const INTEGERS = {
    'minus one': '-1',
    seven: '7',
    'ninety-nine': '99',
    'the largest integer': '2147483647',
    'the smallest integer': '-2147483648',
};
/** Enum values that Chatwoot may get one day, and the limits of columns. */
const kinds = across('numbers', ['message.type', 'message.format', 'conversation.status', 'conversation.score'], INTEGERS);
const sizes = of('numbers', 'file.size', {
    'minus one': '-1',
    zero: '0',
    'two gigabytes': '2147483648',
    'the last exact number': '9007199254740991',
    'the first inexact number': '9007199254740993',
    'the largest number of the column': '9223372036854775807',
});
const TIMES = {
    'no time': '',
    infinity: 'infinity',
    'minus infinity': '-infinity',
    'before our era': '0044-03-15 00:00:00 BC',
    'the first day of PostgreSQL': '4713-01-01 00:00:00 BC',
    'the last day of PostgreSQL': '294276-12-31T23:59:59Z',
    'the year 1': '0001-01-01T00:00:00Z',
    'the last moment before 1900': '1899-12-31T23:59:59.999999Z',
    'the first moment of 1900': '1900-01-01T00:00:00Z',
    'the first second of Unix': '1970-01-01T00:00:00Z',
    'the last second of 32 bits': '2038-01-19T03:14:07Z',
    'the last moment of 2999': '2999-12-31T23:59:59.999999Z',
    'the year 9999': '9999-12-31T23:59:59.999999Z',
    'the year 10000': '10000-01-01T00:00:00Z',
    'a leap second': '2016-12-31T23:59:60Z',
    'the 29th of February': '2024-02-29T12:00:00Z',
    nanoseconds: '2026-11-01T10:00:00.123456789Z',
    'the largest offset': '2026-11-01T10:00:00+23:59',
    'midnight at the end of a day': '2026-11-01T24:00:00Z',
};
const times = across('times', ['message.time', 'contact.time', 'conversation.time'], TIMES);
export const numbers = [...kinds, ...sizes, ...times];
//# sourceMappingURL=numbers.js.map