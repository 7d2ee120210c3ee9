/** mulberry32: a small generator of numbers from 0 to 1. The same seed gives the same sequence. */
export function generator(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let t = Math.imul(state ^ (state >>> 15), 1 | state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
}
export const pickFrom = (list, random) => list[Math.floor(random() * list.length)]; // the cast is sound: no caller passes an empty list
//# sourceMappingURL=random.js.map