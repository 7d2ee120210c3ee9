import { jsonSchema } from '../../core/json-schema.ts';
import type { OfferedSkill } from '../../gateway/skills.ts';

/** Some clients read only the text, so it names the skills. */
const textOf = (names: string): string =>
  [
    'This agent reads stored customer-support data and detects languages. It has no language model and guesses nothing.',
    `Choose a skill of the data part: ${names}. Its arguments follow the JSON Schema in "arguments".`,
    'Answer with one data part, or with the same JSON as a text, as "example" shows: {"skill": ..., "arguments": {...}}.',
    'Send the answer with the taskId of this task. The task then does its work under the same id.',
    'The task waits at most 15 minutes. Each further text without a skill gets this question again.',
  ].join('\n');

const descriptionOf = ({ skill }: OfferedSkill): object => ({
  id: skill.name,
  description: skill.description,
  arguments: jsonSchema(skill.input, 'input'),
  example: { skill: skill.name, arguments: skill.examples[0] ?? {} },
});

const namesOf = (skills: readonly OfferedSkill[]): string =>
  skills.map(({ skill }) => skill.name).join(', ') || 'none that this token may use';

/** What a task asks for that waits for a skill: a text for people and models, and the skills as data. */
export const question = (skills: readonly OfferedSkill[]): { readonly text: string; readonly data: object } => ({
  text: textOf(namesOf(skills)),
  data: { skills: skills.map(descriptionOf) },
});

/** The question in a list of tasks. With its schemas, a list of 100 tasks was 863 KB (27 November 2026). */
export const reminder = (skills: readonly OfferedSkill[]): string =>
  `The task waits for a skill: ${namesOf(skills)}. GetTask tells their arguments.`;
