import type { z } from 'zod';

type Shape = Readonly<Record<string, z.ZodType>>;
type Input = Readonly<Record<string, unknown>>;

export interface SkillContext<I> {
  readonly input: I;
  /** Calls one of `tools` under the caller's authority: its REST body, or the Failure of a refusal, thrown. */
  call(tool: string, input: Input): Promise<unknown>;
}

/** An A2A skill: operations composed into one piece of work. What it requires is what they require. */
export interface SkillDeclaration<S extends Shape> {
  /** The contract's name; the file's name is the same in kebab case. */
  readonly name: string;
  readonly title: string;
  /** For an agent that chooses between skills. */
  readonly description: string;
  readonly tags: readonly string[];
  /** Operations that it may call, and the only ones. */
  readonly tools: readonly string[];
  readonly input: z.ZodObject<S, z.core.$strict>;
  /** Arguments as a client would send them, with ids that stand for ids copied from answers. */
  readonly examples: readonly z.input<z.ZodObject<S>>[];
  /** Throws the Failure of arguments that fit `input` and make no sense together: before there is a task. */
  check?(input: z.output<z.ZodObject<S>>): void;
  /** The artifact: the REST body. Nothing that it was given may stand in an error. */
  run(context: SkillContext<z.output<z.ZodObject<S>>>): Promise<unknown>;
}

/** A declaration with its types erased. */
export interface Skill {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly tools: readonly string[];
  readonly input: z.ZodObject;
  readonly examples: readonly Input[];
  check?(input: Input): void;
  run(context: SkillContext<Input>): Promise<unknown>;
}

// `run` is given what `input` has accepted, so its own types hold.
export const defineSkill = <S extends Shape>(declaration: SkillDeclaration<S>): Skill =>
  declaration as unknown as Skill; // as above
