import { ForeignServerRefused } from '../../store/driver/errors.js';
import { UNREADABLE } from '../engine/parse-record.js';
import { prepareChange } from '../engine/prepare.js';
import { mayRead, watchRows } from '../engine/underway.js';
import { secretsOf, sent, ThreadPulse, } from '../thread/protocol.js';
import { Repeats } from './repeats.js';
/** Milliseconds between two messages that something has changed. */
const NOTICE = 100;
/** The most changes and characters in a part of a page. The main thread handles a part in a few milliseconds. */
const PART = { changes: 500, characters: 1024 * 1024 };
/** The most changes and characters in a page. A note of 20,000 characters for 10,000 visitors has 200 million. */
const PAGE = { changes: 200_000, characters: 256 * 1024 * 1024 };
/** The most characters of a position, and of the texts of a finding. A foreign server determines both. */
const PLACE = 1024 * 1024;
const FINDING = { findings: 100, characters: 2_000 };
/** Answers the calls of the main thread from this source. Records are checked and converted in this thread. */
export function hostReader(source, port, { settings, memory, skipped: rows }) {
    const pulse = new ThreadPulse(memory);
    const skipped = new Set(rows);
    const secrets = secretsOf(settings.address);
    const repeats = new Repeats();
    const walks = new Map();
    const parts = new Map();
    let unlisten;
    pulse.start();
    watchRows((row) => {
        pulse.begin(row);
        return !skipped.has(row);
    });
    const post = (reply) => port.postMessage(reply);
    const notice = atMostEvery(NOTICE, () => post({ changed: true }));
    const paged = (id, page) => {
        const [first = [], ...others] = partsOf(prepared(page.changes));
        // All records are made. If the thread hangs from now on, no row is the cause.
        pulse.begin('');
        if (others.length > 0)
            parts.set(id, others);
        return { page: { ...page, changes: first }, of: id, left: others.length };
    };
    const answer = async ({ id, method, args }) => {
        const [first] = args;
        switch (method) {
            case 'listen':
                unlisten = source.listen(notice);
                return undefined;
            case 'unlisten':
                return unlisten?.();
            case 'reread':
                // The main thread sends arguments of the types in the interface Source.
                repeats.forget(args[1]);
                walks.set(first, source.reread(args[1])[Symbol.asyncIterator]());
                return undefined;
            case 'next': {
                const page = await walks.get(first)?.next();
                if (page === undefined || page.done === true)
                    return undefined;
                requireFew(page.value);
                return paged(id, { changes: page.value });
            }
            case 'end': {
                const walk = walks.get(first);
                walks.delete(first);
                return walk?.return?.().then(() => undefined);
            }
            case 'part': {
                const left = parts.get(first);
                const part = left?.shift();
                if (left?.length === 0)
                    parts.delete(first);
                return part;
            }
            case 'load':
            case 'changes': {
                // As above.
                const page = await source[method](first);
                requireFew(page.changes);
                if (method === 'load')
                    repeats.forget();
                const polled = method === 'changes' && settings.mode === 'poll';
                const changes = polled ? repeats.without(page.changes) : page.changes;
                if (polled && !page.more)
                    repeats.endRound();
                if (JSON.stringify(page.after).length > PLACE)
                    throw tooMuch('a place that is too long');
                return paged(id, { ...page, changes });
            }
            case 'check':
                return (await source.check()).slice(0, FINDING.findings).map(shortened);
            default:
                // As above.
                return source[method](...args);
        }
    };
    port.on('message', (call) => {
        answer(call)
            .then((value) => post({ id: call.id, answer: value }))
            .catch((error) => post({ id: call.id, error: sent(error, secrets) }));
    });
}
/** Calls back at once, and then at most once in this many milliseconds. A call in between is made later. */
function atMostEvery(milliseconds, work) {
    let [resting, again] = [false, false];
    return function hear() {
        if (resting) {
            again = true;
            return;
        }
        resting = true;
        work();
        setTimeout(() => {
            resting = false;
            if (again) {
                again = false;
                hear();
            }
        }, milliseconds);
    };
}
const shortened = ({ level, about, text }) => ({
    ...{ level, about: about.slice(0, FINDING.characters) },
    text: text.slice(0, FINDING.characters),
});
const prepared = (changes) => changes.map((change) => {
    if ('only' in change || 'gone' in change)
        return change;
    const { from } = change;
    return { from, prepared: mayRead(from) ? prepareChange(change) : { refused: UNREADABLE, type: '' } };
});
/** Call this before any other work on the changes. */
function requireFew({ length }) {
    if (length > PAGE.changes)
        throw tooMuch('more rows than the gateway asked for');
}
function partsOf(changes) {
    const parts = [];
    let [part, characters, all] = [[], 0, 0];
    for (const change of changes) {
        const length = lengthOf(change);
        if (part.length > 0 && (part.length === PART.changes || characters + length > PART.characters)) {
            parts.push(part);
            [part, characters] = [[], 0];
        }
        part.push(change);
        characters += length;
        all += length;
        if (all > PAGE.characters)
            throw tooMuch('more text than the gateway asked for');
    }
    parts.push(part);
    return parts;
}
/** The characters of the long texts of a change. */
function lengthOf(change) {
    if ('keep' in change)
        return change.keep.reduce((sum, one) => sum + one.length, 0);
    if (!('prepared' in change && 'row' in change.prepared))
        return 0;
    const { data, links = [] } = change.prepared.row;
    const texts = [...Object.values(data), ...links];
    return texts.reduce((sum, one) => sum + (typeof one === 'string' ? one.length : 0), 0);
}
const tooMuch = (what) => new ForeignServerRefused(`The server at this address does not speak PostgreSQL as expected: it sends ${what}.`);
//# sourceMappingURL=host.js.map