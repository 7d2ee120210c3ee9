/** A word of the command line can be a password or a token that stands at a wrong place. No refusal may show it. */

/**
 * Takes the typed values out of a complaint of `commander`. Only the name of an unknown option stays. The value itself can
 * hold quotation marks, so each pattern goes to the last one.
 */
export const withoutValues = (complaint: string): string =>
  complaint
    .replace(/ argument '[\s\S]*' is invalid\b/, ' argument is invalid')
    .replace(/ value '[\s\S]*' is invalid for argument\b/, ' value is invalid for argument')
    .replace(
      /unknown option '(--[a-z][a-z-]*(?=[='])|)[\s\S]*'(?=\n\(Did you mean|\s*$)/,
      (_, name: string) => `unknown option${name === '' ? '' : ` '${name}'`}`,
    )
    .replace(/unknown command '[\s\S]*'(?=\n\(Did you mean|\s*$)/, 'unknown command');

/** An address with a user, or a token or a secret of the gateway (docs/security.md). */
const SECRET = /:\/\/|[^\s:]:[^\s@]*@|igw[a-z]?_|whsec_/;

/** Takes the words that look like a secret out of a refusal. A refusal names a record by the word that was typed. */
export const withoutSecrets = (refusal: string, typed: readonly string[]): string =>
  typed
    .flatMap((word) => [word, word.slice(word.indexOf('=') + 1)])
    .filter((word) => SECRET.test(word))
    .flatMap((word) => [word, JSON.stringify(word).slice(1, -1), word.trim(), word.replace(/\s+/g, ' ')])
    .toSorted((one, other) => other.length - one.length)
    .reduce((text, word) => text.replaceAll(word, '…'), refusal);
