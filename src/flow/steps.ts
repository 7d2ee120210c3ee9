/**
 * Runs steps one after the other, also after one that has failed, until `stop`. Then throws what has failed: the error,
 * or an AggregateError of different errors.
 */
export async function allSteps(steps: readonly (() => Promise<unknown>)[], stop?: AbortSignal): Promise<void> {
  const errors = new Map<string, unknown>();
  for (const step of steps) {
    if (stop?.aborted === true) break;
    try {
      await step();
    } catch (error) {
      errors.set(String(error), error);
    }
  }
  const [first] = errors.values();
  if (errors.size > 1) throw new AggregateError(errors.values(), [...errors.keys()].join('; '));
  if (errors.size === 1) throw first;
}
