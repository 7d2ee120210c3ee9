import type { z } from 'zod';

type Shape = Readonly<Record<string, z.ZodType>>;
type Input = Readonly<Record<string, unknown>>;

export interface SkillContext<I> {
  readonly input: I;
  /** Calls one of `tools` with the caller's authority and returns the REST body. Throws the Failure of the call. */
  call(tool: string, input: Input): Promise<unknown>;
}

/** An A2A skill: several operations that form one piece of work. It requires the authority of all of them. */
export interface SkillDeclaration<S extends Shape> {
  /** Public name. The file has the same name in kebab case. */
  readonly name: string;
  readonly title: string;
  /** For an agent that chooses between skills. */
  readonly description: string;
  readonly tags: readonly string[];
  /** Names of the operations that it may call. It can call no others. */
  readonly tools: readonly string[];
  readonly input: z.ZodObject<S, z.core.$strict>;
  /** Example arguments. The ids in them stand for ids that a client copies from earlier answers. */
  readonly examples: readonly z.input<z.ZodObject<S>>[];
  /** Throws a Failure if the arguments fit `input` but contradict each other. It runs before a task is created. */
  check?(input: z.output<z.ZodObject<S>>): void;
  /** Returns the artifact, which is a REST body. No error may contain a value of the input. */
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

export const defineSkill = <S extends Shape>(declaration: SkillDeclaration<S>): Skill =>
  declaration as unknown as Skill; // sound: `run` and `check` receive only what `input` has accepted
