import { ForeignServerRefused } from './errors.js';
/**
 * Checks what a foreign PostgreSQL server sends, before the driver (`postgres` 3.4.9) reads it. The driver trusts its
 * server. A SCRAM message without a salt ends the process. A column name without its NUL causes an endless loop. The
 * server decides how long the process computes a password's hash.
 *
 * Only messages that the gateway's statements can cause pass this check. COPY, portals and function calls are refused.
 */
/** The longest message of each type in bytes, without its type byte. Any other type is refused. */
const LONGEST = new Map(Object.entries({
    R: 4_096,
    S: 8_192,
    K: 12,
    // A notification has at most 8,000 bytes of payload and 63 bytes of channel name.
    A: 8_192,
    E: 262_144,
    N: 262_144,
    Z: 5,
    C: 1_024,
    t: 262_148,
    T: 262_144,
    // A message of Chatwoot: up to 2,000,001 characters of attributes, 1,000,001 of text, 4 bytes each.
    D: 12 * 1024 * 1024,
    '1': 4,
    '2': 4,
    n: 4,
    I: 4,
}).map(([type, bytes]) => [type.charCodeAt(0), bytes]));
/** The most columns of a result in PostgreSQL (MaxTupleAttributeNumber). */
const COLUMNS = 1_664;
/** The fewest and most iterations of PBKDF2. PostgreSQL has 4,096. 600,000 take 165 ms (24 November 2026). */
const ITERATIONS = [4_096, 600_000];
/**
 * The most bytes of an answer, plus what the driver makes of each message, column and value: a row of 7 bytes takes
 * about 64 bytes of memory.
 */
const ANSWER = 48 * 1024 * 1024;
const MESSAGE = 64;
const COLUMN = 64;
const VALUE = 16;
/**
 * The most settings that the server may report. PostgreSQL reports 15. The driver keeps each name: a million names of
 * 12 MB took 220 MiB (24 November 2026).
 */
const SETTINGS = 100;
/**
 * The longest value in bytes. It takes up to twice its bytes, and V8 ends the process if a thread has no room for one
 * value of more than 16 MiB.
 */
const LONGEST_VALUE = 8 * 1024 * 1024;
const MECHANISM = 'SCRAM-SHA-256';
/** The server's first message of SCRAM, exactly as PostgreSQL writes it (RFC 5802, section 5). */
const FIRST = /^r=([\x21-\x2b\x2d-\x7e]{1,256}),s=(?=[^,])(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/]=))?,i=([1-9]\d{0,9})$/;
const FINAL = /^v=[A-Za-z0-9+/]{43}=$/;
/** The types of messages that are allowed in each stage. */
const ALLOWED = {
    start: 'REN',
    password: 'REN',
    sasl: 'REN',
    'sasl-final': 'REN',
    'sasl-done': 'REN',
    settings: 'SKENZ',
    idle: 'SENA',
    busy: 'SENAZCtTD12nI',
};
const refused = (why) => new ForeignServerRefused(`The server at this address does not speak PostgreSQL as expected: ${why}.`);
/** Checks the messages that arrive on one connection. */
export class ServerMessages {
    /** True if the password may be sent in clear text. */
    #cleartext;
    #stage = 'start';
    #nonce;
    /** The start of an incomplete message, in the first `#used` bytes of the buffer. */
    #held = Buffer.alloc(0);
    #used = 0;
    /** The bytes since the last ReadyForQuery. */
    #weight = 0;
    #settings = 0;
    constructor(options) {
        this.#cleartext = options.cleartext;
    }
    /** Updates the stage from what the client sends. */
    sent(bytes) {
        if (this.#stage === 'idle')
            this.#stage = 'busy';
        else if (this.#stage === 'sasl')
            this.#nonce ??= /n,,n=[^,]*,r=([^,]+)$/.exec(bytes.toString('latin1'))?.[1];
    }
    /** Returns the messages that are complete. Throws at the first invalid message. */
    take(chunk) {
        const bytes = this.#joined(chunk);
        if (bytes === undefined)
            return EMPTY;
        let at = 0;
        while (at + 5 <= bytes.length) {
            const end = at + 1 + this.#lengthAt(bytes, at);
            if (end > bytes.length)
                break;
            this.#check(bytes, at, end);
            at = end;
        }
        this.#hold(bytes.subarray(at));
        return at === bytes.length ? bytes : bytes.subarray(0, at);
    }
    /** Appends a chunk to an incomplete message. Returns undefined while the message is still incomplete. */
    #joined(chunk) {
        if (this.#used === 0)
            return chunk;
        const all = this.#used + chunk.length;
        const head = this.#used >= 5 ? 1 + this.#lengthAt(this.#held, 0) : 5;
        if (all >= head) {
            const joined = Buffer.concat([this.#held.subarray(0, this.#used), chunk], all);
            this.#used = 0;
            return joined;
        }
        // Double the buffer. So a message that arrives byte by byte costs time in proportion to its length.
        if (all > this.#held.length) {
            const larger = Buffer.allocUnsafe(Math.min(head, Math.max(all, 2 * this.#held.length)));
            this.#held.copy(larger, 0, 0, this.#used);
            this.#held = larger;
        }
        chunk.copy(this.#held, this.#used);
        this.#used = all;
        return undefined;
    }
    #hold(rest) {
        this.#used = rest.length;
        // A copy, because a slice would keep the whole chunk in memory.
        this.#held = rest.length === 0 ? EMPTY : Buffer.from(rest);
    }
    #lengthAt(bytes, at) {
        const type = bytes[at] ?? 0;
        const length = bytes.readUInt32BE(at + 1);
        const most = LONGEST.get(type);
        if (most === undefined || !ALLOWED[this.#stage].includes(String.fromCharCode(type)))
            throw refused(`a message of type ${named(type)} came at the wrong time`);
        if (length < 4 || length > most)
            throw refused(`a message of type ${named(type)} has ${length} bytes, and 4 to ${most} are expected`);
        return length;
    }
    #check(bytes, at, end) {
        this.#weight += end - at + MESSAGE;
        const type = bytes[at];
        if (type === 68)
            this.#row(bytes, at + 5, end);
        else if (type === 90)
            this.#ready(bytes, end);
        else if (type === 82)
            this.#authentication(bytes, at + 5, end);
        else if (!wellFormed(bytes, at, end))
            throw refused(`a message of type ${named(type ?? 0)} is broken`);
        else if (type === 84)
            this.#weight += COLUMN * bytes.readUInt16BE(at + 5);
        else if (type === 83 && ++this.#settings > SETTINGS)
            throw refused(`it tells more than ${SETTINGS} settings`);
        if (this.#weight > ANSWER)
            throw refused(`an answer is longer than ${ANSWER} bytes`);
    }
    /** DataRow: the number of values, and each value after its length. -1 is NULL. */
    #row(bytes, start, end) {
        if (start + 2 > end)
            throw refused('a row is broken');
        const count = bytes.readUInt16BE(start);
        let at = start + 2;
        for (let i = 0; i < count && at <= end; i++) {
            const length = at + 4 > end ? Number.POSITIVE_INFINITY : bytes.readInt32BE(at);
            if (length < -1)
                throw refused('a value has a negative length');
            if (length > LONGEST_VALUE && length < end)
                throw refused(`a value is longer than ${LONGEST_VALUE} bytes`);
            at += 4 + Math.max(0, length);
        }
        if (at !== end || count > COLUMNS)
            throw refused('a row is broken');
        this.#weight += VALUE * count;
    }
    #ready(bytes, end) {
        if (!'ITE'.includes(String.fromCharCode(bytes[end - 1] ?? 0)) || bytes.readUInt32BE(end - 5) !== 5)
            throw refused('ReadyForQuery is broken');
        this.#stage = 'idle';
        this.#weight = 0;
        this.#settings = 0;
    }
    #authentication(bytes, start, end) {
        const code = end - start < 4 ? -1 : bytes.readUInt32BE(start);
        const length = end - start - 4;
        const text = () => bytes.toString('latin1', start + 4, end);
        const next = (from, to) => {
            if (!from.includes(this.#stage))
                throw refused('the steps of the authentication are out of order');
            this.#stage = to;
        };
        if (code === 0 && length === 0)
            next(['start', 'password', 'sasl-done'], 'settings');
        else if (code === 3 && length === 0) {
            if (!this.#cleartext)
                throw refused('it asks for the password in clear text, which needs a connection with sslmode=verify-full');
            next(['start'], 'password');
        }
        else if (code === 5 && length === 4)
            next(['start'], 'password');
        else if (code === 10) {
            const offered = text().split('\0');
            if (!text().endsWith('\0\0') || !offered.includes(MECHANISM))
                throw refused(`it does not offer ${MECHANISM}`);
            next(['start'], 'sasl');
        }
        else if (code === 11) {
            next(['sasl'], 'sasl-final');
            this.#first(text());
        }
        else if (code === 12) {
            next(['sasl-final'], 'sasl-done');
            if (!FINAL.test(text()))
                throw refused('the last message of SCRAM is broken');
        }
        else
            throw refused('it asks for a kind of authentication that the gateway does not have');
    }
    #first(message) {
        const [, nonce = '', iterations = ''] = FIRST.exec(message) ?? [];
        if (nonce === '')
            throw refused('the first message of SCRAM has no nonce, no salt or no number of iterations');
        if (this.#nonce === undefined || !nonce.startsWith(this.#nonce) || nonce === this.#nonce)
            throw refused('the nonce of SCRAM does not continue the nonce of the gateway');
        const [least, most] = ITERATIONS;
        if (Number(iterations) < least || Number(iterations) > most)
            throw refused(`SCRAM has ${iterations} iterations, and ${least} to ${most} are expected`);
    }
}
const EMPTY = Buffer.alloc(0);
const named = (type) => type > 0x20 && type < 0x7f ? String.fromCharCode(type) : `0x${type.toString(16)}`;
/** Checks the form of a message that does not change the stage. */
function wellFormed(bytes, at, end) {
    const body = at + 5;
    switch (String.fromCharCode(bytes[at] ?? 0)) {
        case 'E':
        case 'N':
            return areFields(bytes, body, end);
        case 'T':
            return areColumns(bytes, body, end);
        case 'S':
            return afterTexts(bytes, body, end, 2) === end;
        case 'A':
            return body + 4 <= end && afterTexts(bytes, body + 4, end, 2) === end;
        case 'C':
            return afterTexts(bytes, body, end, 1) === end;
        case 't':
            return body + 2 <= end && body + 2 + 4 * bytes.readUInt16BE(body) === end;
        case 'K':
            return end - body === 8;
        default:
            return end === body;
    }
}
/** The offset after this many texts that end with NUL. -1 if a text does not end within the message. */
function afterTexts(bytes, start, end, count) {
    let at = start;
    for (let i = 0; i < count; i++) {
        const nul = bytes.indexOf(0, at);
        if (at >= end || nul < 0 || nul >= end)
            return -1;
        at = nul + 1;
    }
    return at;
}
/** ErrorResponse and NoticeResponse: a letter and a text for each field, and a NUL at the end. */
function areFields(bytes, start, end) {
    let at = start;
    while (at >= 0 && at < end - 1 && bytes[at] !== 0)
        at = afterTexts(bytes, at + 1, end, 1);
    return at === end - 1 && bytes[at] === 0;
}
/** RowDescription: a name and 18 bytes for each column. */
function areColumns(bytes, start, end) {
    const count = start + 2 > end ? COLUMNS + 1 : bytes.readUInt16BE(start);
    if (count > COLUMNS)
        return false;
    let at = start + 2;
    for (let i = 0; i < count; i++) {
        const name = afterTexts(bytes, at, end, 1);
        if (name < 0 || name + 18 > end)
            return false;
        at = name + 18;
    }
    return at === end;
}
//# sourceMappingURL=wire.js.map