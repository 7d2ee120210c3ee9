/** Quota units of a call. The input is not checked yet, because a refused call costs the same. */
export const costOf = ({ cost, costWith }, input) => costWith && input[costWith.given] !== undefined ? costWith.units : cost;
/** The cost in words, such as "2 quota units, or 5 with group_by". */
export function costText({ cost, costWith }) {
    const more = costWith ? `, or ${costWith.units} with ${costWith.given}` : '';
    return `${cost} quota ${cost === 1 ? 'unit' : 'units'}${more}`;
}
//# sourceMappingURL=price.js.map