import { ForeignServerRefused, StoreUnreachable, sqlState } from '../../store/driver/errors.js';
import { SourceRefused } from '../follow/explain.js';
import { NotPerformed } from '../helpdesk.js';
import { OtherInstallation, PositionLost } from '../source.js';
const CLASSES = { PositionLost, OtherInstallation, SourceRefused, StoreUnreachable, ForeignServerRefused, Error };
// Object.keys forgets the type of the keys. `Error`, the class of every error, is the last one.
const NAMES = Object.keys(CLASSES);
/** Returns the password as written in the address, and as the server gets it. */
export function secretsOf(address) {
    if (!URL.canParse(address))
        return [address];
    const { password } = new URL(address);
    if (password === '')
        return [];
    // A password that cannot be decoded has only one form.
    return /%(?![0-9a-f]{2})/i.test(password) ? [password] : [password, decodeURIComponent(password)];
}
/** Converts an error for sending to another thread, without the `secrets`. */
export function sent(error, secrets) {
    const known = error instanceof Error ? error : new Error(String(error));
    const message = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), known.message);
    return {
        class: NAMES.find((one) => known instanceof CLASSES[one]) ?? 'Error',
        message: message.slice(0, 2_000),
        code: sqlState(known),
        ...(known.cause instanceof Error && { cause: sent(known.cause, secrets) }),
        ...(known instanceof NotPerformed && { ending: known.ending, status: known.status }),
    };
}
/** Codes of the gateway's own store. A foreign server can also send them, but they mean nothing there. */
const OURS = /^GW/;
export function received({ class: name, message, code, cause, ending, status }) {
    if (ending !== undefined)
        return new NotPerformed(ending, message, cause && { cause: received(cause) }, status);
    const error = new CLASSES[name](message, cause && { cause: received(cause) });
    return code === '' || OURS.test(code) ? error : Object.assign(error, { code });
}
/** Milliseconds between two heartbeats. */
const BEAT = 500;
/** The memory that both threads share: a count that grows while the thread is not blocked, and the current row. */
const ROW = 8;
const LONGEST = 256;
export const newMemory = () => new SharedArrayBuffer(ROW + LONGEST);
export class ThreadPulse {
    numbers;
    name;
    constructor(memory) {
        this.numbers = new Int32Array(memory, 0, 2);
        this.name = Buffer.from(memory, ROW, LONGEST);
    }
    get count() {
        return Atomics.load(this.numbers, 0);
    }
    get row() {
        return this.name.toString('utf8', 0, Atomics.load(this.numbers, 1));
    }
    /** Counts from now on, while the thread is not blocked. */
    start() {
        this.beat();
        setInterval(() => this.beat(), BEAT);
    }
    beat() {
        Atomics.add(this.numbers, 0, 1);
    }
    begin(row) {
        Atomics.store(this.numbers, 1, this.name.write(row));
        this.beat();
    }
}
//# sourceMappingURL=protocol.js.map