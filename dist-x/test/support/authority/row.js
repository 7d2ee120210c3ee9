/** Each case is one call. The first case describes the operation as a whole. */
export const reads = (...cases) => ({ reads: cases });
export const write = (one) => ({ write: one });
/** A write that exists only for credentials whose policy names it. So the derived tests of all operations leave it out. */
export const writeByPolicy = (one) => ({ byPolicy: one });
export const subscriptionWrite = (one) => ({ subscription: one });
export const realtime = (one) => ({ realtime: one });
export const plain = (...names) => columns([], ...names);
export const columns = (needs, ...names) => Object.fromEntries(names.map((name) => [name, needs]));
export const page = (member) => plain(member, 'next_cursor', 'coverage');
export const at = (pointer, ...names) => names.map((name) => `${pointer}/${name}`);
/**
 * The rows of a list of conversations or their parts. `all` is for an unrestricted caller. `inFirst` is for a caller
 * who may see only place 1, which is one channel, team or subsite.
 */
export const through = (all, inFirst) => (restricted) => restricted === undefined ? all : restricted.ids.includes(1) ? inFirst : [];
export const always = (...ids) => () => ids;
/**
 * The rows of a directory, for example of all teams. A restriction to one team hides the other teams, but a restriction
 * to a channel does not.
 */
export const directory = (dimension) => (restricted) => restricted?.dimension === dimension ? [2, 1].filter((id) => restricted.ids.includes(id)) : [2, 1];
//# sourceMappingURL=row.js.map