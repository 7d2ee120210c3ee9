import { Failure } from '../core/failures.js';
import { NONE, parseId } from '../core/ids.js';
import { inputErrors, refusalOf, unstorable } from './input-errors.js';
export function parseInput(call) {
    const parsed = call.tool.input.safeParse(call.input);
    const errors = [
        ...(call.problems ?? []),
        ...(parsed.success ? unstorable(call.tool, call.input) : inputErrors(call.tool, parsed.error, call.input)),
    ];
    if (errors.length > 0)
        throw refusalOf(errors);
    return parsed.data ?? {};
}
const NO_WEBSITE = { id: '', tenant: '0', site: '0' };
/**
 * The website of a call, from `website_id` or the id of a record. All ids of the input must belong to it, and the
 * credential must be granted it. Otherwise the call fails with `not_found` before any query.
 */
export function websiteOf(tool, input, authority) {
    const named = new Set();
    for (const parameter of tool.parameters) {
        const value = input[parameter.name];
        if (typeof value !== 'string' || value === NONE || parameter.name === tool.asksAbout)
            continue;
        if (parameter.name === 'website_id')
            named.add(value);
        else if (parameter.id)
            named.add(parseId(value)?.website ?? '');
    }
    const [id] = named;
    if (id === undefined)
        return NO_WEBSITE;
    const website = authority.websites.get(id);
    if (named.size > 1 || !website)
        throw new Failure('not_found', { outside: true });
    return website;
}
//# sourceMappingURL=call-input.js.map