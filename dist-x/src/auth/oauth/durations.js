/** How long a person can let a client by URL keep its access. */
export const DURATIONS = [
    { name: '8h', seconds: 28_800, text: '8 hours' },
    { name: '7d', seconds: 604_800, text: '7 days' },
    { name: '30d', seconds: 2_592_000, text: '30 days' },
    { name: '90d', seconds: 7_776_000, text: '90 days' },
];
/** The durations that the operator permits. */
export const durationsUpTo = (longest) => DURATIONS.filter(({ seconds }) => seconds <= longest);
/** Seconds without a refresh after which a consent ends: a quarter of its time, but at least an hour. */
export const idleOf = ({ seconds }) => Math.max(3_600, seconds / 4);
//# sourceMappingURL=durations.js.map