/** Decodes a percent-encoded text. Undefined if an escape is not valid UTF-8. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** As `decoded`, for application/x-www-form-urlencoded text, in which a plus is a space. */
export const decodedForm = (text: string): string | undefined => decoded(text.replaceAll('+', ' '));
