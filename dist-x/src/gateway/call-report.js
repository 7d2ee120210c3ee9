import { parseId } from '../core/ids.js';
import { codeOf } from './audit.js';
/** The most targets of a record, each named once. Path parameters come first, the outer record before the inner one. */
const TARGETS = 3;
/** Ids of records, of whatever kind. An id that a failed call names is recorded only in this form. */
const ID = /^[a-z]{3}_[0-9]{1,20}_[1-9][0-9]{0,18}_[1-9][0-9]{0,18}$/;
const isId = (value) => typeof value === 'string' && value.length <= 100 && ID.test(value);
/** The report on a call of a tool. */
export function reportOf(tool, run) {
    const { actor, input, failure, operation } = run;
    const targets = [];
    for (const { id, name } of tool.parameters) {
        const value = id && input[name];
        if (isId(value) && targets.length < TARGETS && !targets.includes(value))
            targets.push(value);
    }
    const list = failure ? undefined : listOf(tool, run.body);
    const [only] = list ?? [];
    if (targets.length === 0 && list?.length === 1 && isId(only?.['id']))
        targets.push(only['id']);
    const website = input['website_id'] ?? (targets[0] === undefined ? undefined : parseId(targets[0])?.website);
    return {
        actor,
        operation: tool.name,
        websiteId: typeof website === 'string' && actor.websites?.has(website) ? website : undefined,
        targets,
        count: list?.length,
        outcome: failure ? codeOf(failure) : 'ok',
        status: failure?.status ?? (run.awaits === undefined ? tool.status : 202),
        units: run.units,
        input,
        operationId: operation?.id,
        replayed: operation?.replayed,
        inserted: run.inserted,
    };
}
/** The ids that the arguments of a skill name. */
export const idsIn = (input) => [...new Set(Object.values(input).filter(isId))].slice(0, TARGETS);
/** The records of a list. Undefined: the tool answers no list. */
function listOf(tool, body) {
    if (!tool.paged && tool.name !== 'events_pull')
        return undefined;
    const outer = Object(body); // an answer is an object, and its schema has been checked
    const data = 'data' in outer ? Object(outer['data']) : outer; // an object, as above
    return Object.values(data).find((value) => Array.isArray(value));
}
//# sourceMappingURL=call-report.js.map