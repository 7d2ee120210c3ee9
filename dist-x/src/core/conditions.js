export const isAlternative = ({ prefix, leftOut }) => prefix !== undefined || leftOut === true;
/** Names the calls of a condition, such as `include_internal=true`. */
export function conditionName({ given, is, has, prefix }) {
    if (prefix !== undefined)
        return `${given}=${prefix}_…`;
    return is === undefined && has === undefined ? given : `${given}=${has ?? is}`;
}
export function conditionApplies({ is, has, prefix, leftOut }, value) {
    if (leftOut && value === undefined)
        return true;
    if (prefix !== undefined)
        return typeof value === 'string' && value.startsWith(`${prefix}_`);
    if (has !== undefined)
        return typeof value === 'string' && value.split(',').includes(has);
    return is === undefined ? value !== undefined : value === is;
}
//# sourceMappingURL=conditions.js.map