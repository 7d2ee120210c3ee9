import { isRestricted, meets } from '../core/authority.js';
import { isAlternative } from '../core/conditions.js';
import { Failure } from '../core/failures.js';
import { givenOf, parameter } from '../core/parameters.js';
import { both, holds, SCOPES } from '../core/scopes.js';
import { inputErrors, refusalOf, unstorable } from './input-errors.js';
import { lacking, mayCall, switchedOff } from './registry.js';
export class Skills {
    all;
    #byName;
    constructor(skills, registry) {
        this.all = skills.map((skill) => offered(skill, registry)).sort((a, b) => (a.skill.name < b.skill.name ? -1 : 1));
        this.#byName = new Map(this.all.map((one) => [one.skill.name, one]));
        if (this.#byName.size !== this.all.length)
            throw new Error('two skills have the same name: rename one of them');
    }
    /** All scopes that a skill can use. */
    get scopes() {
        return SCOPES.filter((scope) => this.all.some((one) => usable(one).includes(scope)));
    }
    get names() {
        return this.all.map(({ skill }) => skill.name);
    }
    /** The skills that an authority may use. */
    usableBy(authority) {
        return this.all.filter((one) => mayUse(one, authority));
    }
    get(name) {
        return this.#byName.get(name);
    }
}
/** The scopes that a skill needs, or without which its answer has less. */
export const usable = ({ required, alternatives, optional }) => both(required, optional, ...alternatives).scopes;
function offered(skill, registry) {
    const tools = skill.tools.map((name) => {
        const tool = registry.get(name);
        if (!tool)
            throw new Error(`skill ${skill.name} names the tool ${name}, which does not exist: correct its tools`);
        return tool;
    });
    return {
        skill,
        tools,
        required: both(...tools.map(({ required }) => required)),
        unrestricted: tools.some(({ restrictions }) => restrictions === 'refused'),
        alternatives: tools.flatMap(({ when }) => when.filter(isAlternative)),
        optional: both(...tools.flatMap(({ parts }) => Object.values(parts))),
        // As of a query, because a skill reads.
        parameters: Object.entries(skill.input.shape).map(([name, schema]) => parameter(name, 'query', schema)),
    };
}
const mayUse = ({ tools }, authority) => tools.every((tool) => mayCall(tool, authority));
/** True if the grants are enough for the skill. Restrictions can still refuse it. */
export const isGranted = ({ required, alternatives }, grants) => holds(grants, required) && (alternatives.length === 0 || alternatives.some((one) => holds(grants, one)));
/** Throws `not_permitted`, with the missing requirements, unless the caller may call every tool of the skill. */
export function permit(offered, authority) {
    if (mayUse(offered, authority))
        return;
    const { tools, required, unrestricted, alternatives } = offered;
    if (tools.some(({ name }) => authority.switchedOff.has(name)))
        throw switchedOff();
    // The corridor names the first alternative too, if only an alternative is missing.
    const [first] = holds(authority, required) ? alternatives.filter((one) => !meets(authority, one)) : [];
    const needed = first ?? { ...required, unrestricted };
    throw new Failure('not_permitted', {
        required: {
            ...lacking(authority, needed),
            unrestricted: (unrestricted || needed.unrestricted === true) && isRestricted(authority),
        },
    });
}
/** Throws a Failure that names the wrong arguments and never repeats their values. */
export function argumentsOf({ skill, parameters }, received) {
    const given = givenOf(parameters, received, true);
    // As a JSON body, so that each error has a JSON pointer.
    const places = {
        input: skill.input,
        parameters: parameters.map(({ name }) => ({ name, in: 'body' })),
    };
    const parsed = skill.input.safeParse(given);
    const errors = parsed.success ? unstorable(places, given) : inputErrors(places, parsed.error, given);
    if (errors.length > 0)
        throw refusalOf(errors);
    const input = parsed.data ?? {};
    skill.check?.(input);
    return input;
}
//# sourceMappingURL=skills.js.map