import { z } from 'zod';

type Shape = Readonly<Record<string, z.ZodType<string | undefined>>>;

export interface PromptDeclaration<S extends Shape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /**
   * Operations that the prompt asks the model to call. The prompt is listed only for credentials that may call all of
   * them.
   */
  readonly tools: readonly string[];
  /** Schemas of the arguments. MCP passes every argument as text. */
  readonly arguments: S;
  /** Names of the arguments that are missing because the given values require them. Empty: none is missing. */
  lacking?(values: z.output<z.ZodObject<S>>): readonly string[];
  /** Text of the prompt, which is one user message. */
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
    // The casts are sound: both functions receive only what `input` has accepted.
    lacking: (declaration.lacking ?? (() => [])) as Prompt['lacking'],
    render: render as Prompt['render'],
  };
}
