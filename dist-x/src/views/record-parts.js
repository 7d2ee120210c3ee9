import { bytesOf } from '../core/fence.js';
import { NOTES_BYTES, TEXT_BYTES } from './record-text.js';
/** Bytes that every message and every file counts, beside the message's text. */
const HEAD_BYTES = 100;
const known = (words) => typeof words === 'string' && words.trim() !== '';
/** The parts of one record, for a page that people read. Outsiders' words have no fences here. */
export class RecordParts {
    facts = [];
    lists = {};
    #messages = [];
    #size = 0;
    #truncated = false;
    get truncated() {
        return this.#truncated;
    }
    /** Oldest first. */
    get messages() {
        return this.#messages.toReversed();
    }
    cutHere() {
        this.#truncated = true;
    }
    fact(label, value, name) {
        if (typeof value === 'boolean')
            this.facts.push({ label, value: value ? 'yes' : 'no', said: false });
        else if (typeof value === 'number' || known(value))
            this.facts.push({ label, value: String(value), said: false, ...(known(name) && { name }) });
    }
    said(label, words) {
        if (known(words))
            this.facts.push({ label, value: words, said: true });
    }
    phone(label, row, kind) {
        this.said(label, row[`${kind}_e164`] ?? row[kind]);
    }
    operator(id, name) {
        this.fact('Operator', id, name);
    }
    contacts(rows) {
        this.lists.contacts = rows;
    }
    visitors(rows) {
        this.lists.visitors = rows;
    }
    conversations(rows) {
        this.lists.conversations = rows;
    }
    notes(rows) {
        let left = NOTES_BYTES;
        const kept = rows.filter(({ text }) => {
            const fits = left > 0;
            left -= bytesOf(String(text ?? '')) + HEAD_BYTES;
            return fits;
        });
        this.lists.notes = kept;
        if (kept.length < rows.length || kept.some((row) => row['text_truncated'] === true))
            this.cutHere();
    }
    message(row, files) {
        if (this.#size >= TEXT_BYTES)
            return false;
        this.#size += bytesOf(String(row['text'] ?? '')) + HEAD_BYTES * (1 + files.length);
        if (row['text_truncated'] === true)
            this.cutHere();
        this.#messages.push({ row, files });
        return true;
    }
}
//# sourceMappingURL=record-parts.js.map