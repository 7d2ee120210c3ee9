/** The digest before the first record of a chain. */
export const START = `\\x${'0'.repeat(64)}`;
/** The digest of a record whose predecessor has the digest `previous`. */
export function chained(keys, previous, text) {
    return { kid: keys.kid, digest: `\\x${keys.digest('audit', previous + text)}` };
}
//# sourceMappingURL=chain.js.map