/** A word of the command line can be a misplaced password or token. No error message may show it. */
/**
 * Removes the typed values from an error message of `commander`. Only the name of an unknown option stays. A value can
 * contain quotation marks, so each pattern matches up to the last one.
 */
export const withoutValues = (complaint) => complaint
    .replace(/ argument '[\s\S]*' is invalid\b/, ' argument is invalid')
    .replace(/ value '[\s\S]*' is invalid for argument\b/, ' value is invalid for argument')
    .replace(/unknown option '(--[a-z][a-z-]*(?=[='])|)[\s\S]*'(?=\n\(Did you mean|\s*$)/, (_, name) => `unknown option${name === '' ? '' : ` '${name}'`}`)
    .replace(/unknown command '[\s\S]*'(?=\n\(Did you mean|\s*$)/, 'unknown command');
/** A URL, a user name with a password, or a token or secret of the gateway (docs/security.md). */
const SECRET = /:\/\/|[^\s:]:[^\s@]*@|igw[a-z]?_|whsec_/;
/** Replaces typed words that look like a secret by `…`, because an error message repeats a typed reference. */
export const withoutSecrets = (refusal, typed) => typed
    .flatMap((word) => [word, word.slice(word.indexOf('=') + 1)])
    .filter((word) => SECRET.test(word))
    .flatMap((word) => [word, JSON.stringify(word).slice(1, -1), word.trim(), word.replace(/\s+/g, ' ')])
    .toSorted((one, other) => other.length - one.length)
    .reduce((text, word) => text.replaceAll(word, '…'), refusal);
//# sourceMappingURL=secrets.js.map