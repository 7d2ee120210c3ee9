import { isRestricted, meets } from '../core/authority.js';
import { conditionName, isAlternative } from '../core/conditions.js';
import { both } from '../core/scopes.js';
import { lacking, mayCall } from './registry.js';
/**
 * What an authority lacks to call an operation. The authority does not include the credential's authors. If none of an
 * operation's alternatives is met, the answer is about the one that lacks least.
 */
export function accessOf(tool, authority) {
    const unmet = tool.when
        .filter((condition) => !meets(authority, condition))
        .map((one) => lackOf(conditionName(one), one, authority));
    const alternatives = tool.when.filter(isAlternative).map(conditionName);
    const open = unmet.filter(({ parameter }) => alternatives.includes(parameter));
    const choices = open.length < alternatives.length ? [] : open.sort((a, b) => size(a) - size(b));
    const [least] = choices;
    const always = lacking(authority, tool.required);
    return {
        operation: tool.name,
        granted: mayCall(tool, authority),
        switchedOff: authority.switchedOff.has(tool.name),
        lacks: least ? both(always, least) : always,
        alternatives: choices,
        unrestricted: (tool.restrictions === 'refused' && isRestricted(authority)) || least?.unrestricted === true,
        consentRefused: tool.consent === 'refused',
        ofConsent: authority.consentId !== null,
        author: tool.author,
        waits: authority.approve.has(tool.name),
        restOnly: !tool.mcp,
        parameters: unmet,
        parts: Object.entries(tool.parts).flatMap(([part, demand]) => meets(authority, demand) ? [] : [lackOf(part, demand, authority)]),
    };
}
const lackOf = (parameter, demand, authority) => ({
    ...lacking(authority, demand),
    unrestricted: demand.unrestricted === true && isRestricted(authority),
    parameter,
});
const size = ({ scopes, dataAccess, unrestricted }) => scopes.length + dataAccess.length + Number(unrestricted);
//# sourceMappingURL=access.js.map