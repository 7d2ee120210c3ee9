export const isMembers = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const kindOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
const sizeOf = (value) => (Array.isArray(value) ? value.length : Number.NaN);
const listOf = (value) => (Array.isArray(value) ? value : []);
/** Each operator: whether the actual value fulfils the operand. `items` is not in the format, but the suites use it. */
const OPERATORS = {
    type: (operand, actual) => kindOf(actual) === operand,
    exists: (operand, actual) => (actual !== undefined) === operand,
    absent: (operand, actual) => (actual === undefined) === operand,
    contains: (operand, actual) => String(actual).includes(String(operand)),
    matches: (operand, actual) => typeof actual === 'string' && new RegExp(String(operand)).test(actual),
    starts_with: (operand, actual) => typeof actual === 'string' && actual.startsWith(String(operand)),
    ends_with: (operand, actual) => typeof actual === 'string' && actual.endsWith(String(operand)),
    gte: (operand, actual) => Number(actual) >= Number(operand),
    lte: (operand, actual) => Number(actual) <= Number(operand),
    gt: (operand, actual) => Number(actual) > Number(operand),
    lt: (operand, actual) => Number(actual) < Number(operand),
    count: (operand, actual) => sizeOf(actual) === operand,
    count_gte: (operand, actual) => sizeOf(actual) >= Number(operand),
    count_lte: (operand, actual) => sizeOf(actual) <= Number(operand),
    one_of: (operand, actual) => listOf(operand).some((one) => mismatch(one, actual) === undefined),
    any_of: (operand, actual) => listOf(operand).some((one) => mismatch(one, actual) === undefined),
    all_of: (operand, actual) => listOf(operand).every((one) => mismatch(one, actual) === undefined),
    not: (operand, actual) => mismatch(operand, actual) !== undefined,
    items: (operand, actual) => Array.isArray(operand)
        ? mismatch(operand, actual) === undefined
        : listOf(actual).every((one) => mismatch(operand, one) === undefined),
};
const isAssertion = (expected) => {
    const names = Object.keys(expected);
    return names.length > 0 && names.every((name) => Object.hasOwn(OPERATORS, name));
};
/** Where and how a value differs from what is expected. Undefined: it does not. */
export function mismatch(expected, actual, path = '') {
    const differs = (operator = '') => `${path || 'the answer'}: expected ${operator}${JSON.stringify(expected)}, found ${JSON.stringify(actual)?.slice(0, 300)}`;
    if (Array.isArray(expected)) {
        if (!Array.isArray(actual))
            return differs();
        return first(expected.map((one, index) => mismatch(one, actual[index], `${path}[${index}]`)));
    }
    if (!isMembers(expected))
        return Object.is(expected, actual) ? undefined : differs();
    if (isAssertion(expected)) {
        const failed = Object.entries(expected).filter(([name, operand]) => !OPERATORS[name]?.(operand, actual));
        return failed.length === 0 ? undefined : differs(`${failed.map(([name]) => name).join(', ')} of `);
    }
    const members = isMembers(actual) ? actual : {};
    return first(Object.entries(expected).map(([name, one]) => mismatch(one, members[name], `${path}.${name}`)));
}
const first = (found) => found.find((one) => one !== undefined);
/** The values at a path such as `task.artifacts[*].parts[0]`. */
export function valuesAt(path, from) {
    const names = path.replaceAll(/\[(\*|\d+)\]/g, '.$1').split('.');
    return names.reduce((values, name) => values.flatMap((value) => {
        if (name === '*')
            return listOf(value);
        const next = Array.isArray(value) ? value[Number(name)] : isMembers(value) ? value[name] : undefined;
        return next === undefined ? [] : [next];
    }), [from]);
}
/** The condition of a `repeat`: `path == value`, `path != value` or `path in [a, b]`. */
export function holds(condition, answer) {
    const [, path = '', operator, operand = ''] = /^(\S+) (==|!=|in) (.+)$/.exec(condition) ?? [];
    const [value] = valuesAt(path, answer);
    if (operator === 'in')
        return operand.slice(1, -1).split(/,\s*/).includes(String(value));
    if (operator === undefined)
        throw new Error(`unknown condition: ${condition}`);
    return (String(value) === operand) === (operator === '==');
}
//# sourceMappingURL=matching.js.map