import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { hashPassword, isPassword } from '../auth/passwords.js';
import { Refused } from './output.js';
/** The largest input in bytes. A valid password is shorter in every encoding. */
const INPUT_MAX = 8_192;
/** Reads a password from standard input and returns its hash. Ignores one line end after the password. */
export async function pipedPassword({ input }) {
    const parts = [];
    let length = 0;
    for await (const part of input) {
        const bytes = Buffer.from(part);
        length += bytes.length;
        if (length > INPUT_MAX)
            throw new Refused(FORM);
        parts.push(bytes);
    }
    const bytes = Buffer.concat(parts);
    const text = bytes.toString('utf8');
    if (!Buffer.from(text).equals(bytes))
        throw new Refused('The password is not valid UTF-8.');
    return hashed(text.replace(/\r?\n$/, ''));
}
/** Asks twice for the password without showing it, and returns its hash. Undefined if the input is not a terminal. */
export async function typedPassword({ input, questions }) {
    if (input.isTTY !== true)
        return undefined;
    const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
    const lines = createInterface({ input, output: silent, terminal: true, historySize: 0 });
    const stopped = new AbortController();
    // Ctrl-C and Ctrl-D end the prompt by themselves. When the terminal closes, only this abort ends the prompt.
    lines.once('close', () => stopped.abort());
    const ask = async (question) => {
        questions.write(question);
        try {
            return await lines.question('', { signal: stopped.signal });
        }
        catch (cause) {
            throw new Refused('No password was given. Nothing was changed.', { cause });
        }
        finally {
            questions.write('\n');
        }
    };
    try {
        const first = await ask('Password: ');
        if (!isPassword(first))
            throw new Refused(FORM);
        if ((await ask('Repeat the password: ')) !== first)
            throw new Refused('The passwords differ. Nothing was changed.');
        return await hashed(first);
    }
    finally {
        lines.close();
    }
}
const FORM = 'A password must have 12 to 256 characters.';
async function hashed(password) {
    if (!isPassword(password))
        throw new Refused(FORM);
    return hashPassword(password);
}
//# sourceMappingURL=password.js.map