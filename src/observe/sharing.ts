/** Milliseconds for which an answer is reused. */
const KEPT = 1_000;

/**
 * Callers share one answer: those that call while `work` runs, and those that call within a second of its answer. So
 * many scrapes cost as much as one. A failure is not kept: the next caller tries again. `kept`: milliseconds in place
 * of that second.
 */
export function sharing<T>(work: () => Promise<T>, kept = KEPT): () => Promise<T> {
  let last: { readonly answer: Promise<T>; until: number } | undefined;
  return () => {
    if (last && performance.now() < last.until) return last.answer;
    const mine = { answer: work(), until: Number.POSITIVE_INFINITY };
    last = mine;
    mine.answer.then(
      () => {
        mine.until = performance.now() + kept;
      },
      () => {
        mine.until = 0;
      },
    );
    return mine.answer;
  };
}
