import { FAILURE_CODES, statusOf, titleOf } from '../../core/failures.js';
import { jsonSchema, nodeOf } from '../../core/json-schema.js';
import { DATA_ACCESS, SCOPES } from '../../core/scopes.js';
import { aboutText, code, codes, typeText } from './schema-text.js';
export const errorsText = () => [
    '| Code | Status | Meaning |',
    '|---|---|---|',
    ...FAILURE_CODES.map((failure) => `| ${code(failure)} | ${statusOf(failure)} | ${titleOf(failure)} |`),
].join('\n');
export const scopesText = (registry) => [
    'Scopes:',
    '',
    ...SCOPES.map((scope) => opened(scope, registry, ({ scopes }) => scopes)),
    '',
    'Data-access flags:',
    '',
    ...DATA_ACCESS.map((flag) => opened(flag, registry, ({ dataAccess }) => dataAccess)),
].join('\n');
function opened(grant, { operations: tools }, grantsOf) {
    const always = tools.filter((tool) => grantsOf(tool.required).includes(grant));
    const sometimes = tools.flatMap((tool) => {
        const given = tool.when.filter((condition) => grantsOf(condition).includes(grant));
        return given.length > 0 && !always.includes(tool) ? [`${code(tool.name)} with ${orCodes(given)}`] : [];
    });
    const parts = [
        ...(always.length > 0 ? [codes(always.map((tool) => tool.name))] : []),
        ...(sometimes.length > 0 ? [sometimes.join(', ')] : []),
    ];
    return `- ${code(grant)}: ${parts.join('; ') || 'no operation of this version needs it'}.`;
}
const orCodes = (conditions) => conditions.map(({ given }) => code(given)).join(' or ');
export const resourcesText = (resources, registry) => resources
    .filter(({ tool }) => registry.get(tool))
    .map(({ uri, description, mimeType, tool }) => `- ${code(uri)} (${code(mimeType)}, reads ${code(tool)}): ${description}`)
    .join('\n');
export const promptsText = (prompts, registry) => prompts
    .filter(({ tools }) => tools.every((tool) => registry.get(tool)))
    .map(({ name, description, tools, arguments: all }) => {
    const lines = all.map((one) => `  - ${code(one.name)}${one.required ? ' (required)' : ''}: ${one.description}`);
    return [`- ${code(name)} (uses ${codes(tools)}): ${description}`, ...lines].join('\n');
})
    .join('\n');
export const skillsText = ({ all }, nameOf) => all
    .map(({ skill, required, unrestricted, alternatives }) => {
    const { properties = {}, required: always = [] } = nodeOf(jsonSchema(skill.input, 'input'));
    const flags = required.dataAccess.length === 0 ? '' : ` and the flags ${codes(required.dataAccess)}`;
    const grants = alternatives.length === 0 ? codes(required.scopes) : 'what one kind of its operation needs';
    const needs = `needs ${grants}${flags}${unrestricted ? ', and an unrestricted credential' : ''}`;
    const lines = Object.entries(properties).map(([name, node]) => {
        const standard = node.default === undefined ? '' : `, default ${code(node.default)}`;
        const must = always.includes(name) ? ' (required)' : '';
        return `  - ${code(name)}${must}: ${typeText(node, nameOf)}${standard}.${aboutText(node)}`;
    });
    return [`- ${code(skill.name)} (runs ${codes(skill.tools)}; ${needs}): ${skill.description}`, ...lines].join('\n');
})
    .join('\n');
//# sourceMappingURL=tables.js.map