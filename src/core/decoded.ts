/** Decodes a percent-encoded text. Undefined if an escape is not valid UTF-8. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
