const KEPT = 1_000;

/**
 * Lets callers share one answer. Callers get the same answer when they call while `work` runs, or within `kept`
 * milliseconds after it has answered. Many scrapes therefore cost as much as one. A failure is not kept, so the next
 * caller tries again.
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
