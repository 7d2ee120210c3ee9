import { z } from 'zod';

type ArgumentShape = Readonly<Record<string, z.ZodType<string | undefined>>>;

export interface PromptDeclaration<S extends ArgumentShape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Operations that the prompt asks the model to call. A credential that may not call all of them does not see it. */
  readonly tools: readonly string[];
  /** MCP passes every argument as text. */
  readonly arguments: S;
  /** Names the missing arguments. For example, one argument can be required only with a certain value of another. */
  lacking?(values: z.output<z.ZodObject<S>>): readonly string[];
  render(values: z.output<z.ZodObject<S>>): string;
}

export interface Prompt extends Pick<PromptDeclaration<ArgumentShape>, 'name' | 'title' | 'description' | 'tools'> {
  readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
  readonly input: z.ZodObject;
  lacking(values: Readonly<Record<string, unknown>>): readonly string[];
  render(values: Readonly<Record<string, unknown>>): string;
}

export function definePrompt<S extends ArgumentShape>(declaration: PromptDeclaration<S>): Prompt {
  const { name, title, description, tools, render } = declaration;
  const shape = Object.entries<z.ZodType>(declaration.arguments);
  return {
    name,
    title,
    description,
    tools,
    arguments: shape.map(([argument, schema]) => ({
      name: argument,
      description: schema.description ?? '',
      required: !schema.safeParse(undefined).success,
    })),
    input: z.strictObject({ ...declaration.arguments }),
    // The casts are sound, because `lacking` and `render` receive only values that `input` has accepted.
    lacking: (declaration.lacking ?? (() => [])) as Prompt['lacking'],
    render: render as Prompt['render'],
  };
}
