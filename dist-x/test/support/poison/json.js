import { of } from './poison.js';
const nestedText = (times) => {
    let text = '{"deleted":true}';
    for (let i = 0; i < times; i++)
        text = JSON.stringify(text);
    return text;
};
/** `content_attributes` of a message. In a file of records, the import does not know this member. */
const attributes = of('json', 'message.attributes', {
    'an object': '{"deleted": true}',
    'a string that holds an object': '"{\\"deleted\\":true}"',
    'a string in a string, 8 times': nestedText(8),
    'an array': '[1, 2, {"deleted": true}]',
    null: 'null',
    'a number': '1e308',
    'a number without end': '1e999',
    'a number of 1,000 digits': '9'.repeat(1_000),
    truth: 'true',
    'an empty string': '""',
    'a string that is no JSON': '"{deleted: true"',
    'a NUL in a string': '"\\u0000"',
    'a NUL in a member': '{"in_reply_to": "\\u0000"}',
    'half a surrogate pair': '{"email": {"text_content": {"full": "\\ud800"}}}',
    'a member named __proto__': '{"__proto__": {"deleted": true}}',
    'members of every object': '{"constructor": {"prototype": {"deleted": true}}, "toString": 1, "hasOwnProperty": 2}',
    'one member twice': '{"deleted": false, "deleted": true}',
    '1,000 nested arrays': `${'['.repeat(1_000)}${']'.repeat(1_000)}`,
    '1,000 nested objects': `${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`,
    '50,000 members': `{${Array.from({ length: 50_000 }, (_, n) => `"m${n}":${n}`).join(',')}}`,
    'an answer to itself and to nothing': '{"in_reply_to": 9223372036854775808}',
    'an answer to an object': '{"in_reply_to": {"a": 1}}',
    'an answer to an infinite number': '{"in_reply_to": 1e400}',
    'an answer to a negative number': '{"in_reply_to": -1}',
    'a time in the year 2999': '{"external_created_at": 32503679999}',
    'a time without end': '{"external_created_at": 1e308}',
    'a time of digits': '{"external_created_at": "99999999999999999999"}',
    'a time before 1900': '{"external_created_at": -62135596801}',
    'a time that is no number': '{"external_created_at": "NaN"}',
    'an e-mail with deep HTML': JSON.stringify({ email: { html_content: { full: '<b>'.repeat(20_000) } } }),
    'an e-mail that is an array': '{"email": [{"html_content": "a"}]}',
});
const message = (more) => `{"type":"message","external_id":"odd","conversation":"sentinels","author_type":"system","visibility":"public","kind":"text","created_at":"2026-11-01T10:00:00Z"${more}}`;
const raw = of('json', 'line', {
    'half an object': '{"type":"message"',
    'a number': '42',
    'a string': '"message"',
    null: 'null',
    'an array': '[{"type":"message"}]',
    'a number without end': message(',"text":1e999'),
    'nothing but brackets': '['.repeat(200_000),
    '200,000 nested arrays': `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
    'a member with 100,000 nested arrays': message(`,"x":${'['.repeat(100_000)}${']'.repeat(100_000)}`),
    'a text with 50,000 nested objects': message(`,"text":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`),
    'one member twice': message(',"text":"a","text":"b"'),
    'the type twice': message(',"type":"contact"'),
    'a member named __proto__': message(',"__proto__":{"text":"a"}'),
    'a prototype with a type': '{"__proto__":{"type":"organization","external_id":"x","name":"y"}}',
    'a member named constructor': message(',"constructor":1'),
    'the type of every object': '{"type":"constructor","external_id":"x"}',
    'a type named __proto__': '{"type":"__proto__","external_id":"x"}',
    'a member of 100,000 letters': message(`,"${'m'.repeat(100_000)}":1`),
    'a member with a NUL and an escape': message(',"a\\u0000\\u001b[31m":1'),
    '20,000 unknown members': message(Array.from({ length: 20_000 }, (_, n) => `,"m${n}":1`).join('')),
    'single quotation marks': "{'type':'message'}",
    'a comment': '{"type":"message"} // comment',
    'a byte order mark in the middle': `\ufeff${message('')}`,
    'a line separator inside': message(',"text":"a\u2028b"'),
    'a control character inside': message(',"text":"a\u0001b"'),
    'half a surrogate pair': message(',"text":"\\ud83d"'),
    'an id of a NUL': '{"type":"team","external_id":"\\u0000","website":"site"}',
    'an id of an escape': '{"type":"team","external_id":"\\u001b[31m","website":"\\u001b]0;x\\u0007"}',
    'an id of 100,000 letters': `{"type":"team","external_id":"${'i'.repeat(100_000)}","website":"site"}`,
    'a reference to itself': '{"type":"message","external_id":"self","conversation":"self","author_type":"system","visibility":"public","kind":"text","created_at":"2026-11-01T10:00:00Z","in_reply_to":"self"}',
    '1,001 references': `{"type":"visitor","external_id":"many","website":"site","created_at":"2026-11-01T10:00:00Z","contacts":${JSON.stringify(Array(1_001).fill('x'))}}`,
    '900 references to one contact': `{"type":"visitor","external_id":"same","website":"site","created_at":"2026-11-01T10:00:00Z","contacts":${JSON.stringify(Array(900).fill('c0'))}}`,
    'a version of the largest integer': '{"type":"ai_feature","external_id":"v","website":"site","name":"v","ai_type":"autopilot","versions":[{"version":2147483647,"active":true}]}',
    'a version twice': '{"type":"ai_feature","external_id":"w","website":"site","name":"v","ai_type":"autopilot","versions":[{"version":1},{"version":1}]}',
    'a sentiment of 1e308': '{"type":"ai_result","external_id":"r","conversation":"sentinels","sentiment":1e308}',
    'a sentiment of almost nothing': '{"type":"ai_result","external_id":"s","conversation":"sentinels","sentiment":1e-400,"confidence":-0}',
    'a position beyond an integer': '{"type":"disposition","external_id":"d","website":"site","value":"v","label":"l","position":2147483648}',
    'a deletion of what does not exist': '{"type":"delete","of":"organization","external_id":"nobody"}',
    'a deletion of an odd type': '{"type":"delete","of":"__proto__","external_id":"x"}',
});
const bytes = Object.entries({
    'a byte of Latin-1': [0xe9],
    'a long form of a slash': [0xc0, 0xaf],
    'a surrogate in UTF-8': [0xed, 0xa0, 0xbd],
    'a letter beyond the last': [0xf4, 0x90, 0x80, 0x80],
    'half a letter': [0xf0, 0x9f, 0x98],
    'two bytes that never occur': [0xff, 0xfe],
}).map(([name, odd]) => {
    const [head = '', tail = ''] = message(',"text":"a|b"').split('|');
    return {
        name: `json line: ${name}`,
        category: 'json',
        at: 'line',
        value: `${head}?${tail}`,
        bytes: Buffer.concat([Buffer.from(head), Buffer.from(odd), Buffer.from(tail)]),
    };
});
export const json = [...attributes, ...raw, ...bytes];
//# sourceMappingURL=json.js.map