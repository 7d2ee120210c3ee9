import fc from 'fast-check';
import { ALL_FLAGS, ALL_SCOPES, DIMENSIONS } from './grants.js';
import { webId } from './world.js';
/**
 * Generates large sets of grants most of the time. Otherwise, operations with many required grants would almost never
 * succeed.
 */
const some = (all) => fc.oneof(fc.subarray([...all]), fc.subarray([...all], { maxLength: 4 }).map((lacking) => all.filter((one) => !lacking.includes(one))));
const credentials = fc.record({
    scopes: some(ALL_SCOPES),
    flags: fc.oneof(fc.constant([...ALL_FLAGS]), fc.subarray([...ALL_FLAGS])),
    restricted: fc.option(fc.record({ dimension: fc.constantFrom(...DIMENSIONS), ids: fc.subarray([1, 2, 9]) }), {
        nil: undefined,
        freq: 2,
    }),
    websites: fc.subarray([webId(1, 1), webId(1, 2)], { minLength: 1 }),
});
/** Random credentials of organization 1. The fixed seed makes every run draw the same ones. */
export const drawnCredentials = (numRuns) => fc.sample(credentials, { numRuns, seed: 20_261_121 });
//# sourceMappingURL=drawn.js.map