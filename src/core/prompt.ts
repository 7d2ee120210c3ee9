import { z } from 'zod';

type Shape = Readonly<Record<string, z.ZodType<string | undefined>>>;

export interface PromptDeclaration<S extends Shape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Operations that the prompt asks the model to call: it is listed for who can call them all. */
  readonly tools: readonly string[];
  /** MCP passes every argument of a prompt as text. */
  readonly arguments: S;
  /** The arguments that must come together with what the others say; empty where all is well. */
  lacking?(values: z.output<z.ZodObject<S>>): readonly string[];
  /** The one user message. */
  render(values: z.output<z.ZodObject<S>>): string;
}

/** A declaration with its types erased. */
export interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly tools: readonly string[];
  readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
  readonly input: z.ZodObject;
  lacking(values: Readonly<Record<string, unknown>>): readonly string[];
  render(values: Readonly<Record<string, unknown>>): string;
}

export function definePrompt<S extends Shape>(declaration: PromptDeclaration<S>): Prompt {
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
    // Both are given what `input` has accepted.
    lacking: (declaration.lacking ?? (() => [])) as Prompt['lacking'],
    render: render as Prompt['render'],
  };
}
