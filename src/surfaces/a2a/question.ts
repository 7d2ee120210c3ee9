import type { Part } from '@a2a-js/sdk';
import { jsonSchema } from '../../core/json-schema.ts';
import type { OfferedSkill } from '../../gateway/skills.ts';

/** Some clients read only the text, so it names the skills. */
const textOf = (names: readonly string[]): string =>
  [
    'This agent reads stored customer-support data and detects languages. It has no language model and guesses nothing.',
    `Choose a skill of the data part: ${names.join(', ')}. Its arguments follow the JSON Schema in "arguments".`,
    'Answer with one data part, or with the same JSON as a text, as "example" shows: {"skill": ..., "arguments": {...}}.',
    'Send the answer with the taskId of this task. The task then does its work under the same id.',
    'The task waits at most 15 minutes. Each further text without a skill gets this question again.',
  ].join('\n');

const described = new WeakMap<OfferedSkill, object>();

function descriptionOf(offered: OfferedSkill): object {
  const { skill } = offered;
  const known = described.get(offered);
  if (known) return known;
  const description = {
    id: skill.name,
    description: skill.description,
    arguments: jsonSchema(skill.input, 'input'),
    example: { skill: skill.name, arguments: skill.examples[0] ?? {} },
  };
  described.set(offered, description);
  return description;
}

/** What a task asks for that waits for a skill: a text for people and models, and the skills as data. */
export const question = (skills: readonly OfferedSkill[]): Part[] => [
  {
    content: { $case: 'text', value: textOf(skills.map(({ skill }) => skill.name)) },
    metadata: undefined,
    filename: '',
    mediaType: 'text/plain',
  },
  {
    content: { $case: 'data', value: { skills: skills.map(descriptionOf) } },
    metadata: undefined,
    filename: '',
    mediaType: 'application/json',
  },
];
