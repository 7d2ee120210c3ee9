/**
 * Makes a value for each key and keeps those of the `limit` keys that were asked last. A promise that fails is not kept.
 */
export function recent<T>(
  limit: number,
  make: (key: string) => T,
): { readonly of: (key: string) => T; readonly keep: (wanted: ReadonlySet<string>) => void } {
  const kept = new Map<string, T>();
  return {
    of: (key) => {
      const value = kept.get(key) ?? make(key);
      // A Map keeps the order in which its entries were set.
      kept.delete(key);
      kept.set(key, value);
      const [oldest] = kept.keys();
      if (kept.size > limit && oldest !== undefined) kept.delete(oldest);
      if (value instanceof Promise) value.catch(() => kept.delete(key));
      return value;
    },
    keep: (wanted) => {
      for (const key of kept.keys()) if (!wanted.has(key)) kept.delete(key);
    },
  };
}
