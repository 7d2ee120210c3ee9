/** Milliseconds for which an answer is told again. */
const KEPT = 1_000;

/**
 * Who asks while `work` is under way, or within a second of its answer, has that answer: many who scrape cost no more than
 * one. What fails is tried again by the next who asks. `kept` in place of the second, where another keeps it already.
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
