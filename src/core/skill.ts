import type { z } from 'zod';

type Shape = Readonly<Record<string, z.ZodType>>;
type Input = Readonly<Record<string, unknown>>;

export interface SkillContext<I> {
  readonly input: I;
  /** Calls an operation with the caller's authority. Returns the REST body, or throws the Failure of the call. */
  call(tool: string, input: Input): Promise<unknown>;
}

/** An A2A skill: several operations that together do one task. The caller must be allowed to call all of them. */
export interface SkillDeclaration<S extends Shape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly tools: readonly string[];
  readonly input: z.ZodObject<S, z.core.$strict>;
  /** Example arguments. The ids are placeholders. A client replaces the placeholders with ids from earlier answers. */
  readonly examples: readonly z.input<z.ZodObject<S>>[];
  /** Throws a Failure if valid arguments contradict each other. Runs before the task is created. */
  check?(input: z.output<z.ZodObject<S>>): void;
  /** Runs the skill and returns its artifact, a REST body. An error must not contain a value of the input. */
  run(context: SkillContext<z.output<z.ZodObject<S>>>): Promise<unknown>;
}

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

export const defineSkill = <S extends Shape>(declaration: SkillDeclaration<S>): Skill =>
  declaration as unknown as Skill; // the cast is sound, because `run` and `check` receive only values that `input` has accepted
