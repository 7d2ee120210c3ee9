const KEPT = 1_000;
/**
 * Lets several callers share one answer of `work`. A caller that comes while `work` runs gets the answer of this run. A
 * caller that comes at most `kept` milliseconds after the answer gets the same answer. So many scrapes cost as much as
 * one scrape. A failure is not kept, so the next caller runs `work` again.
 */
export function sharing(work, kept = KEPT) {
    let last;
    return () => {
        if (last && performance.now() < last.until)
            return last.answer;
        const mine = { answer: work(), until: Number.POSITIVE_INFINITY };
        last = mine;
        mine.answer.then(() => {
            mine.until = performance.now() + kept;
        }, () => {
            mine.until = 0;
        });
        return mine.answer;
    };
}
//# sourceMappingURL=sharing.js.map