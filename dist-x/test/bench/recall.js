import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.js';
import { importFiles } from '../../src/sources/files/import.js';
import { issue } from '../support/credentials.js';
import { openCalls, openWorld } from './world.js';
const QUESTIONS = 200;
const SHOWN = 10;
/** Words of letters that a typing error can hit. */
const LETTERS = /^\D{4,}$/;
/**
 * Measures the recall of `search` at ten hits, with questions from the annotations of the imported dialogues. The folder
 * GATEWAY_BENCH_LABELS holds the annotation files of the Schema-Guided Dialogue data set (dev). Three kinds of
 * questions:
 *
 * - facts: the values that annotators marked in one turn, such as a city and a time;
 * - facts with one or two typing errors: a word of four letters or more has one wrong, missing, doubled or swapped
 *   letter. Two errors are in two words, if the question has two such words;
 * - the same with one error in a word without digits, where the question has such a word, because no number is corrected;
 * - subjects: the intent that the data names as subject, in words.
 *
 * Each kind is asked twice: without the spellings of the store, and with them.
 *
 * The recall of a question is the share of the answers among the first ten conversations. With more than ten answers,
 * ten are enough.
 */
export async function recall(store, print) {
    const folder = process.env['GATEWAY_BENCH_LABELS'] ?? '';
    const data = fileURLToPath(new URL('../shared/data/northwind-dev.ndjson', packageRoot));
    if (!existsSync(folder) || !existsSync(data))
        throw new Error('GATEWAY_BENCH_LABELS must name a folder with dialogues');
    const { db, sql, close } = await openWorld(store, 'gateway');
    try {
        await importFiles(db, { files: [data] });
        const call = await openCalls(db, (await issue(sql, 1)).token, 0);
        const rows = await sql `
      SELECT 'cnv_' || tenant || '_' || site || '_' || id AS id, external_id AS external, subject FROM platform.conversation`;
        const ids = new Map(rows.map(({ id, external }) => [external, id]));
        const facts = factsOf(folder, ids);
        const random = randomFrom(20_261_123);
        const lettered = facts.filter(({ query }) => query.split(' ').some((word) => LETTERS.test(word)));
        const kinds = [
            ['facts of one turn', facts],
            ['facts, one typing error', facts.map((one) => ({ ...one, query: mistyped(one.query, random, 1) }))],
            ['facts, error in a word', lettered.map((one) => ({ ...one, query: mistyped(one.query, random, 1, LETTERS) }))],
            ['facts, two typing errors', facts.map((one) => ({ ...one, query: mistyped(one.query, random, 2) }))],
            ['subjects', subjectsOf(rows)],
        ];
        for (const [name, questions, spellings] of kinds.flatMap(([name, questions]) => [
            [name, questions, false],
            [name, questions, true],
        ])) {
            // While words are not noted, no word of a query is corrected.
            await (spellings
                ? sql `DELETE FROM gateway.unspelled`
                : sql `INSERT INTO gateway.unspelled (kind, relation, said) VALUES ('bench', '', '')`);
            let sum = 0;
            let found = 0;
            for (const { query, answers } of questions) {
                const { results } = await call('search', { query, limit: 50 });
                const hits = [...new Set(results.map(({ conversation_id = '' }) => conversation_id))].slice(0, SHOWN);
                const right = hits.filter((id) => answers.has(id)).length;
                sum += right / Math.min(SHOWN, answers.size);
                if (right > 0)
                    found++;
            }
            print(`${name.padEnd(24)} ${spellings ? 'corrected' : 'as asked '} ${questions.length} questions   recall at ${SHOWN}: ${(sum / questions.length).toFixed(3)}   at least one answer: ${(found / questions.length).toFixed(3)}`);
        }
    }
    finally {
        await close();
    }
}
/** Questions from two or more values of one turn. A dialogue answers if the annotators marked all values in one turn. */
function factsOf(folder, ids) {
    const dialogues = readdirSync(folder).flatMap((file) => {
        const read = JSON.parse(readFileSync(join(folder, file), 'utf8'));
        return read.filter(({ dialogue_id }) => ids.has(`sgd-${dialogue_id}`));
    });
    const turns = dialogues.flatMap(({ dialogue_id, turns: said }) => said.map(({ utterance, frames }) => ({
        id: ids.get(`sgd-${dialogue_id}`) ?? '',
        values: new Set(frames.flatMap(({ slots }) => slots.map(({ start, exclusive_end }) => utterance.slice(start, exclusive_end).toLowerCase()))),
    })));
    const questions = new Map();
    for (const { values } of turns.filter((turn) => turn.values.size > 1)) {
        const query = [...values].join(' ');
        if (questions.has(query) || query.length > 400)
            continue;
        const right = turns.filter((turn) => [...values].every((value) => turn.values.has(value)));
        questions.set(query, { query, answers: new Set(right.map(({ id }) => id)) });
    }
    const random = randomFrom(20_261_122);
    const drawn = [...questions.values()].map((one) => ({ one, at: random() })).sort((a, b) => a.at - b.at);
    return drawn.slice(0, QUESTIONS).map(({ one }) => one);
}
function subjectsOf(rows) {
    const names = [...new Set(rows.flatMap(({ subject }) => (subject === null ? [] : [subject])))];
    return names.map((name) => ({
        query: name.replaceAll('_', ' '),
        answers: new Set(rows.filter(({ subject }) => subject === name).map(({ id }) => id)),
    }));
}
/** Puts a typing error into a word, and further errors into other words while there are some. */
function mistyped(query, random, errors, where = /^.{4,}$/, done = []) {
    const words = query.split(' ');
    const long = words.flatMap((word, i) => (where.test(word) && !done.includes(i) ? [i] : []));
    const at = long[Math.floor(random() * long.length)] ?? done[0] ?? 0;
    const wrong = words.with(at, mistypedWord(words[at] ?? '', random)).join(' ');
    return errors > 1 ? mistyped(wrong, random, errors - 1, where, [...done, at]) : wrong;
}
function mistypedWord(word, random) {
    const i = 1 + Math.floor(random() * Math.max(1, word.length - 2));
    const errors = [
        `${word.slice(0, i)}${word.slice(i + 1)}`,
        `${word.slice(0, i)}${word.charAt(i)}${word.slice(i)}`,
        `${word.slice(0, i)}${word.charAt(i + 1)}${word.charAt(i)}${word.slice(i + 2)}`,
        `${word.slice(0, i)}${'etaoin'.charAt(Math.floor(random() * 6))}${word.slice(i + 1)}`,
    ];
    return errors[Math.floor(random() * errors.length)] ?? word;
}
/** Equal numbers in every run, so that two runs ask the same questions. */
function randomFrom(seed) {
    let state = seed;
    return () => {
        state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
        return state / 2_147_483_648;
    };
}
//# sourceMappingURL=recall.js.map