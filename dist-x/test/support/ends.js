const ends = [];
/**
 * Ends what a support module has open, after every test file. A hook of the module would run only after the first file
 * of a process, because files that share a process share its modules.
 */
export const atFileEnd = (end) => void ends.push(end);
export const endFile = () => Promise.all(ends.map((end) => end()));
//# sourceMappingURL=ends.js.map