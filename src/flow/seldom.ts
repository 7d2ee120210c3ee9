/** Returns a function that does `work` at most once in some milliseconds, and else nothing. */
export function seldom<Given extends unknown[]>(
  milliseconds: number,
  work: (...given: Given) => void,
): (...given: Given) => void {
  let doneAt = Number.NEGATIVE_INFINITY;
  return (...given) => {
    if (performance.now() - doneAt < milliseconds) return;
    doneAt = performance.now();
    work(...given);
  };
}
