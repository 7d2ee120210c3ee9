import { setTimeout as pause } from 'node:timers/promises';
import PQueue from 'p-queue';
import { before } from '../outbound/before.js';
import { forgetWriteBack, prepareWriteBack, sentWriteBack, storeSentChange, storeSentDisposition, storeSentNote, storeSentReply, } from '../store/calls/write-back.js';
import { NotPerformed, refused } from './helpdesk.js';
import { isSourceKind } from './kinds.js';
import { openWriter } from './writer/writer.js';
const SENDING = 4_000;
/**
 * How long (ms) a write waits for the start of its thread. The time SENDING starts after that. Both together are
 * shorter than the time in the ledger (gateway/writes.ts). A start took 0.2 to 0.8 s beside much other work (24
 * November 2026).
 */
const STARTING = 3_000;
/** Timeout (ms) for asking the helpdesk how a write ended. */
const ASKING = 2_500;
/** How many calls of one source run at the same time, and how many wait for their turn. */
const AT_ONCE = 4;
const WAITING = 64;
/** How many helpdesks a process writes to at the same time. Each helpdesk has a thread. */
const MOST = 8;
/** Milliseconds between two checks whether another write still changes the conversation. */
const LOOK = 50;
/**
 * Runs `work` with a signal that aborts after `ms` or with `outer`. Node can garbage-collect an AbortSignal.timeout
 * inside AbortSignal.any, which then never aborts. So this uses its own timer.
 */
async function within(ms, outer, work) {
    const aborter = new AbortController();
    const abort = () => aborter.abort();
    const timer = setTimeout(abort, ms);
    outer?.addEventListener('abort', abort, { once: true });
    if (outer?.aborted)
        abort();
    try {
        return await work(aborter.signal);
    }
    finally {
        clearTimeout(timer);
        outer?.removeEventListener('abort', abort);
    }
}
const CHANGES = ['conversation_status_set', 'conversation_assign'];
function changeOf({ operation, status, until, team }, { given }) {
    if (operation === 'conversation_status_set')
        return { status: String(status), until: until === undefined ? undefined : String(until) };
    return team === undefined || given === null ? { operator: given } : { team: given };
}
/**
 * Sends writes to the helpdesks of live sources. Each source has its own thread and its own turns. So a hostile
 * helpdesk can end only its own thread, and a slow one delays only its own writes.
 *
 * A write is sent once. If its outcome is unknown, the gateway looks for the mark of the write in the helpdesk. A
 * missing mark proves nothing, because the helpdesk can still be processing the write.
 */
export function openWriteBack(options) {
    const { db, keys, onError, sending = SENDING, most = MOST, writer } = options;
    /** In the order of their last use. */
    const opened = new Set();
    let closed = false;
    const end = (desk) => Promise.all([desk.free, desk.helpdesk.close()]).catch((error) => onError(error, desk.source));
    /** Makes room for one more thread by ending an idle one, if necessary. Resolves when the idle thread has ended. */
    function makeRoom(last) {
        if (last)
            last.replaced = true;
        const isFull = opened.size >= most;
        const idle = last?.uses === 0 ? last : [...opened].find(({ uses, replaced }) => isFull && uses === 0 && !replaced);
        if (idle === undefined && isFull)
            throw refused('all threads for writes to helpdesks work');
        if (idle === undefined)
            return Promise.resolve();
        opened.delete(idle);
        return end(idle);
    }
    function open(row) {
        const given = `${row.address} ${row.api_url} ${row.api_token}`;
        if (closed)
            throw refused('the gateway stops');
        const last = [...opened].find(({ source, replaced }) => source === row.source && !replaced);
        if (last?.with === given) {
            opened.delete(last);
            opened.add(last);
            return last;
        }
        if (!isSourceKind(row.kind))
            throw refused('this version of the gateway does not know the helpdesk');
        const [address, token] = [row.address, row.api_token].map((sealed) => keys.open('source', sealed));
        if (address === undefined || token === undefined)
            throw refused('the address or the token of the source cannot be decrypted');
        const helpdesk = openWriter(row.kind, { address, account: row.account, apiUrl: row.api_url, token }, writer);
        const now = {
            ...{ source: row.source, helpdesk, turns: new PQueue({ concurrency: AT_ONCE }), free: makeRoom(last) },
            ...{ with: given, waiting: 0, uses: 0, replaced: false },
        };
        opened.add(now);
        return now;
    }
    /**
     * Waits for the start of the thread, which does not count in `ms`, and for its turn. Then runs `work`. Nothing is
     * sent before the turn.
     */
    async function inTurn(row, { ms, outer }, work) {
        const desk = open(row);
        if (desk.waiting >= WAITING)
            throw refused('too many writes wait for the helpdesk');
        desk.waiting++;
        desk.uses++;
        let begun = false;
        const begin = () => {
            if (!begun)
                desk.waiting--;
            begun = true;
        };
        const turn = async (signal, resolve, reject) => {
            if (signal.aborted)
                return;
            begin();
            // Another call can have ended the thread meanwhile, so check again that it is ready.
            await desk.helpdesk
                .ready(signal)
                .then(() => work(desk.helpdesk, signal))
                .then(resolve, reject);
        };
        try {
            await within(STARTING, outer, async (signal) => {
                await before(signal, desk.free).catch((error) => {
                    throw refused('another thread for writes has not ended', undefined, error);
                });
                await desk.helpdesk.ready(signal);
            });
            return await within(ms, outer, (signal) => new Promise((resolve, reject) => {
                const late = () => {
                    if (!begun)
                        reject(refused('the helpdesk is busy'));
                };
                signal.addEventListener('abort', late, { once: true });
                if (signal.aborted)
                    late();
                void desk.turns.add(() => turn(signal, resolve, reject));
            }));
        }
        finally {
            begin();
            desk.uses--;
            if (desk.replaced && desk.uses === 0)
                void end(desk).finally(() => opened.delete(desk));
        }
    }
    async function send(write, { operationId, command }, limit) {
        const place = { operationId, target: write.target };
        if (command.operation === 'visitor_note_add') {
            const note = { text: String(command['text']), author: write.author };
            const sent = await inTurn(write, limit, (desk, signal) => desk.addNote(place, note, signal));
            return { done: await storeSentNote(db, operationId, { ...sent, text: note.text }) };
        }
        if (command.operation === 'conversation_reply') {
            const reply = { text: String(command['text']), internal: command['visibility'] === 'internal' };
            const sent = await inTurn(write, limit, (desk, signal) => desk.addReply(place, reply, signal));
            return { done: await storeSentReply(db, operationId, sent) };
        }
        if (CHANGES.includes(command.operation)) {
            const change = changeOf(command, write);
            const sent = await inTurn(write, limit, (desk, signal) => desk.changeConversation(place, change, signal));
            return { done: await storeSentChange(db, operationId, sent) };
        }
        const value = String(command['disposition']);
        const now = await inTurn(write, limit, (desk, signal) => desk.setDisposition(place, value, signal));
        return { done: await storeSentDisposition(db, operationId, now) };
    }
    /** Waits while another write changes the same conversation. */
    async function prepare(work, signal) {
        for (;;) {
            const write = await prepareWriteBack(db, work).catch((error) => {
                onError(error, undefined);
                return { refused: 'native_unavailable' };
            });
            if (!('busy' in write))
                return write;
            if (signal.aborted)
                return { refused: 'native_unavailable' };
            await pause(LOOK);
        }
    }
    async function perform(work, outer) {
        const began = performance.now();
        const write = await within(sending, outer, (signal) => prepare(work, signal));
        if ('refused' in write || 'rejected' in write)
            return write;
        const { source } = write;
        try {
            return await send(write, work, { ms: sending - (performance.now() - began), outer });
        }
        catch (error) {
            onError(error, source);
            if (!(error instanceof NotPerformed))
                throw error;
            await forgetWriteBack(db, work.operationId).catch((also) => onError(also, source));
            return error.ending;
        }
    }
    async function find(row, operationId) {
        const place = { operationId, target: row.target };
        try {
            if (row.operation === 'visitor_note_add') {
                const note = await inTurn(row, { ms: ASKING }, (desk, signal) => desk.findNote(place, signal));
                return note && { done: await storeSentNote(db, operationId, note) };
            }
            if (row.operation === 'conversation_reply') {
                const reply = await inTurn(row, { ms: ASKING }, (desk, signal) => desk.findReply(place, signal));
                return reply && { done: await storeSentReply(db, operationId, reply) };
            }
            if (CHANGES.includes(row.operation)) {
                const change = await inTurn(row, { ms: ASKING }, (desk, signal) => desk.findChange(place, signal));
                return change && { done: await storeSentChange(db, operationId, change) };
            }
            const value = await inTurn(row, { ms: ASKING }, (desk, signal) => desk.findDisposition(place, signal));
            return value === undefined ? undefined : { done: await storeSentDisposition(db, operationId, value) };
        }
        catch (error) {
            onError(error, row.source);
            return undefined;
        }
    }
    return {
        onlySources: true,
        perform,
        find: async (operationId) => {
            const row = await sentWriteBack(db, operationId);
            return row && find(row, operationId);
        },
        close: async () => {
            closed = true;
            await Promise.all([...opened].map(end));
        },
    };
}
//# sourceMappingURL=write-back.js.map