import { blockPage, misnamedBlocks, surplusTargets } from '../store/audit/blocks.js';
import { auditHeads, auditOrganizations, brokenLinks, missingDays, missingHeads, repeatedIds, sealedPage, unrecordedWrites, unsealedRecords, wrongEnds, } from '../store/audit/verify.js';
import { blockText } from './blocks.js';
import { madeWithoutKey } from './mark.js';
import { auditMembers } from './row.js';
const PAGE = 2_000;
/** Each has at most a thousand records. */
const BLOCKS = 100;
/** The most findings of one kind and day. */
const MOST = 100;
/**
 * Checks the records of some days. `kept`: heads that an earlier check has printed. `keptDays`: days for which records
 * are kept.
 */
export async function verifyAudit(db, keys, days, kept, keptDays) {
    const found = new Findings();
    let records = 0;
    for (const organization of await auditOrganizations(db, days)) {
        let page = [];
        do {
            page = await sealedPage(db, days, organization, page.at(-1), PAGE);
            records += page.length;
            for (const record of page) {
                const one = judge(keys, record);
                if (one)
                    found.add(one);
                if (madeWithoutKey(record)) {
                    const detail = `Record ${record.id} (${record.operation}) was made without a key.`;
                    found.add({ finding: 'without_key', day: record.time.slice(0, 10), detail });
                }
            }
        } while (page.length === PAGE);
        let blocks = [];
        do {
            blocks = await blockPage(db, days, organization, blocks.at(-1), BLOCKS);
            records += await judgeBlocks(db, keys, blocks, found);
        } while (blocks.length === BLOCKS);
    }
    for (const day of await missingDays(db, days))
        found.add({ finding: 'missing_day', day, detail: 'The day has no partition: it was dropped, or no gateway ran.' });
    for (const day of daysOf(days)) {
        const surplus = await surplusTargets(db, day);
        const detail = `The table of targets has ${Math.abs(surplus)} rows ${surplus < 0 ? 'less' : 'more'} than the records name.`;
        if (surplus !== 0)
            found.add({ finding: 'altered', day, detail });
        for (const { writer, seq, after } of await brokenLinks(db, day, MOST))
            found.add({ finding: 'broken', day, writer, detail: `Record ${seq} follows record ${after}.` });
        for (const { writer, head, last } of await wrongEnds(db, day, MOST)) {
            const detail = `The chain ends with record ${last ?? 0}, and should end with record ${head ?? 0}.`;
            found.add({ finding: 'wrong_end', day, writer, detail });
        }
    }
    for (const { writer, day, seq } of await missingHeads(db, kept, keptDays, MOST))
        found.add({
            finding: 'missing_head',
            day,
            writer,
            detail: `Record ${seq} of the kept heads is gone or altered.`,
        });
    for (const { id, day } of await repeatedIds(db, days, MOST))
        found.add({ finding: 'altered', day, detail: `The id ${id} has several records: one of them was inserted again.` });
    for (const { id, time } of await unsealedRecords(db, days, MOST))
        found.add({ finding: 'unsealed', day: time.slice(0, 10), detail: `No process has sealed record ${id}.` });
    for (const { operation_id, operation } of await unrecordedWrites(db, days, MOST))
        found.add({ finding: 'unrecorded_write', detail: `The ${operation} ${operation_id} has no record.` });
    return { records, heads: await auditHeads(db, days), findings: found.list() };
}
/** Lists the first findings of each kind and day, and counts all of them. */
class Findings {
    #listed = [];
    #counts = new Map();
    add(one) {
        const key = `${one.finding} ${one.day ?? ''}`;
        const known = this.#counts.get(key) ?? { first: one, count: 0 };
        this.#counts.set(key, known);
        if (++known.count <= MOST)
            this.#listed.push(one);
    }
    list() {
        const full = [...this.#counts.values()].filter(({ count }) => count >= MOST);
        const sums = full.map(({ first: { finding, day }, count }) => {
            const detail = `At least ${count} findings of this kind${day === undefined ? '' : ' and day'}.`;
            return day === undefined ? { finding, detail } : { finding, day, detail };
        });
        return [...this.#listed, ...sums];
    }
}
function judge(keys, sealed) {
    const { writer, seq, kid, previous, digest, formed, ...record } = sealed;
    const mac = Buffer.from(digest.slice(2), 'hex');
    if (formed && keys.verify('audit', previous + auditMembers(record), { kid, mac }))
        return undefined;
    const of = { day: sealed.time.slice(0, 10), writer };
    return keys.has(kid)
        ? { finding: 'altered', ...of, detail: `Record ${seq} (${sealed.id}) is not as it was sealed.` }
        : { finding: 'unknown_key', ...of, detail: `Record ${seq} was sealed with the key ${kid}, which is not given.` };
}
/** Judges blocks, and their targets if their digests are right. Returns the number of their records. */
async function judgeBlocks(db, keys, blocks, found) {
    let records = 0;
    const right = [];
    const add = (finding, { time, writer, seq, calls }, detail) => found.add({
        finding,
        day: time.slice(0, 10),
        writer,
        detail: `Records ${Number(seq) - calls + 1} to ${seq}: ${detail}`,
    });
    for (const block of blocks) {
        records += block.calls;
        const mac = Buffer.from(block.digest.slice(2), 'hex');
        if (block.formed && keys.verify('audit', block.previous + blockText(block), { kid: block.kid, mac }))
            right.push(block);
        else if (keys.has(block.kid))
            add('altered', block, 'one of them is not as it was sealed.');
        else
            add('unknown_key', block, `they were sealed with the key ${block.kid}, which is not given.`);
    }
    const ids = right.length === 0 ? [] : await misnamedBlocks(db, right);
    for (const block of right)
        if (ids.includes(block.id))
            add('altered', block, 'the table of targets says something else.');
    return records;
}
function daysOf({ from, to }) {
    const days = [];
    for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000)
        days.push(new Date(at).toISOString().slice(0, 10));
    return days;
}
//# sourceMappingURL=verify.js.map