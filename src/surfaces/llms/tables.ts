import { FAILURE_CODES, statusOf, titleOf } from '../../core/failures.ts';
import { jsonSchema, nodeOf } from '../../core/json-schema.ts';
import type { Prompt } from '../../core/prompt.ts';
import type { ResourceDeclaration } from '../../core/resource.ts';
import { DATA_ACCESS, type DataAccess, type Requirement, SCOPES, type Scope } from '../../core/scopes.ts';
import type { Tool } from '../../core/tool.ts';
import type { Registry } from '../../gateway/registry.ts';
import type { Skills } from '../../gateway/skills.ts';
import { aboutText, code, codes, type NameOf, typeText } from './schema-text.ts';

export const errorsText = (): string =>
  [
    '| Code | Status | Meaning |',
    '|---|---|---|',
    ...FAILURE_CODES.map((failure) => `| ${code(failure)} | ${statusOf(failure)} | ${titleOf(failure)} |`),
  ].join('\n');

export const scopesText = (registry: Registry): string =>
  [
    'Scopes:',
    '',
    ...SCOPES.map((scope) => opened(scope, registry, ({ scopes }) => scopes)),
    '',
    'Data-access flags:',
    '',
    ...DATA_ACCESS.map((flag) => opened(flag, registry, ({ dataAccess }) => dataAccess)),
  ].join('\n');

type GrantName = Scope | DataAccess;

function opened(
  grant: GrantName,
  { operations: tools }: Registry,
  grantsOf: (requirement: Requirement) => readonly GrantName[],
): string {
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

const orCodes = (conditions: Tool['when']): string => conditions.map(({ given }) => code(given)).join(' or ');

export const resourcesText = (resources: readonly ResourceDeclaration[], registry: Registry): string =>
  resources
    .filter(({ tool }) => registry.get(tool))
    .map(
      ({ uri, description, mimeType, tool }) =>
        `- ${code(uri)} (${code(mimeType)}, reads ${code(tool)}): ${description}`,
    )
    .join('\n');

export const promptsText = (prompts: readonly Prompt[], registry: Registry): string =>
  prompts
    .filter(({ tools }) => tools.every((tool) => registry.get(tool)))
    .map(({ name, description, tools, arguments: all }) => {
      const lines = all.map((one) => `  - ${code(one.name)}${one.required ? ' (required)' : ''}: ${one.description}`);
      return [`- ${code(name)} (uses ${codes(tools)}): ${description}`, ...lines].join('\n');
    })
    .join('\n');

export const skillsText = ({ all }: Skills, nameOf: NameOf): string =>
  all
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
      return [`- ${code(skill.name)} (runs ${codes(skill.tools)}; ${needs}): ${skill.description}`, ...lines].join(
        '\n',
      );
    })
    .join('\n');
