import { readFileSync } from 'node:fs';
import { packageRoot } from '../config/package.js';
import { GUIDE_NAMES } from '../core/guides.js';
/** One of these scopes gives access to the guide. An empty list: every credential has access. */
const GIVEN_BY = {
    overview: [],
    investigation: ['conversation_read'],
    contacts: ['contact_read'],
    reporting: ['reports_read'],
    configuration: ['config_read'],
    agent_tasks: [],
    event_recovery: ['event_read'],
};
function gives(name, authority, hasSkill) {
    if (name === 'agent_tasks')
        return hasSkill(authority);
    const scopes = GIVEN_BY[name];
    return scopes.length === 0 || scopes.some((scope) => authority.scopes.has(scope));
}
/** Guides hold no customer data, so the public documentation shows them all. */
export const readGuides = () => new Map(GUIDE_NAMES.map((name) => [name, readFileSync(new URL(`resources/guides/${name}.md`, packageRoot), 'utf8')]));
/** One granted skill gives access to the guide `agent_tasks`. */
export function openGuides(hasSkill) {
    const all = readGuides();
    return {
        given: (authority) => GUIDE_NAMES.filter((name) => gives(name, authority, hasSkill)),
        text: (name, authority) => {
            const guide = GUIDE_NAMES.find((known) => known === name);
            return guide && gives(guide, authority, hasSkill) ? (all.get(guide) ?? null) : null;
        },
    };
}
//# sourceMappingURL=guides.js.map