/** An answer that lists everything would hold every claim. */
const ANSWER_MAX = 1_000;
const ANSWER = /^[\s>*_#-]*answer\b[*_]*\s*:/gim;
/** Fills `{column}` with a fact. A text that is nothing but a list gives one text for each value. */
export function filled(text, facts) {
    const whole = /^\{(\w+)\}$/.exec(text)?.[1];
    const list = whole === undefined ? undefined : facts[whole];
    if (typeof list === 'object')
        return [...list];
    const put = text.replaceAll(/\{(\w+)\}/g, (_, name) => {
        const fact = facts[name];
        if (typeof fact !== 'string')
            throw new Error(`no fact ${name} for: ${text}`);
        return fact;
    });
    return [put];
}
const plain = (text) => text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[*`"“”„«»]|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, '')
    .replaceAll(/[’‘]/g, "'")
    .replaceAll(/\s+/g, ' ')
    .trim();
/** The words stand alone: 23 is not in 123, 23.5 or 1,23, and contact_read is not in contact_read_pii. */
function holds(answer, claim) {
    const begins = claim.startsWith('^');
    return (begins ? claim.slice(1) : claim).split('|').some((words) => {
        const literal = plain(words).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
        const edge = begins ? '^' : '(?<![\\p{L}\\p{N}_]|\\p{N}[.,])';
        return new RegExp(`${edge}${literal}(?![\\p{L}\\p{N}_]|[.,]\\p{N})`, 'u').test(answer);
    });
}
export function judge(task, facts, message, changed) {
    const { communicate_info, never_communicate = [], db = [] } = task;
    const texts = (all) => all.flatMap((one) => filled(one, facts));
    const last = [...message.matchAll(ANSWER)].at(-1);
    const part = plain(last ? message.slice(last.index + last[0].length) : message);
    const answer = part.length > ANSWER_MAX ? '' : part;
    const left = [...changed];
    const undone = texts(db).filter((one) => {
        const at = left.indexOf(one);
        if (at >= 0)
            left.splice(at, 1);
        return at < 0;
    });
    return {
        missing: texts(communicate_info).filter((claim) => !holds(answer, claim)),
        forbidden: texts(never_communicate).filter((claim) => holds(plain(message), claim)),
        db: [...left.map((one) => `unwanted: ${one}`), ...undone.map((one) => `not done: ${one}`)],
    };
}
export const hasPassed = ({ missing, forbidden, db }) => missing.length + forbidden.length + db.length === 0;
const Z = 1.959_964;
const mean = (all) => all.reduce((sum, n) => sum + n, 0) / Math.max(all.length, 1);
/** C(n, k), for the small numbers of runs. */
const choose = (n, k) => (k === 0 ? 1 : n < k ? 0 : (choose(n - 1, k - 1) * n) / k);
/**
 * pass^k of tau-bench: the chance that k independent attempts at a task all pass. It is the mean over the tasks of the
 * unbiased estimate C(c, k) / C(n, k). The interval is Wilson's with one observation a task, because attempts at one
 * task resemble each other. It is never too narrow, and does not shrink to a point if all attempts pass.
 */
export function passTogether(passed, k) {
    if (passed.length === 0 || passed.some(({ length }) => length < k))
        return undefined;
    const value = mean(passed.map((runs) => choose(runs.filter(Boolean).length, k) / choose(runs.length, k)));
    const n = passed.length;
    const middle = (value + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
    const half = (Z / (1 + Z ** 2 / n)) * Math.sqrt((value * (1 - value)) / n + Z ** 2 / (4 * n ** 2));
    return { value, from: Math.max(0, middle - half), to: Math.min(1, middle + half) };
}
const RESAMPLES = 2_000;
/** The mean over tasks of the means over runs, with the percentile bootstrap over tasks. The seed is fixed. */
export function meanOf(figures) {
    const each = figures.map(mean);
    let state = 20_261_127;
    const draw = () => {
        state = (state * 48_271) % 2_147_483_647;
        return state % Math.max(each.length, 1);
    };
    const means = Array.from({ length: RESAMPLES }, () => mean(each.map(() => each[draw()] ?? 0))).sort((a, b) => a - b);
    const at = (share) => means[Math.floor(share * (RESAMPLES - 1))] ?? 0;
    return { value: mean(each), from: at(0.025), to: at(0.975) };
}
//# sourceMappingURL=score.js.map