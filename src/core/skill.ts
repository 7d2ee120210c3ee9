import type { z } from 'zod';

type Shape = Readonly<Record<string, z.ZodType>>;
type Input = Readonly<Record<string, unknown>>;

export interface SkillContext<I> {
  readonly input: I;
  /** Calls a tool of the skill with the caller's authority. Returns the REST body or throws the Failure of the call. */
  call(tool: string, input: Input): Promise<unknown>;
}

/** An A2A skill: several operations that form one piece of work. The skill requires the authority of all operations. */
export interface SkillDeclaration<S extends Shape> {
  /** Public name of the skill. The file has the same name in kebab case. */
  readonly name: string;
  readonly title: string;
  /** Describes the skill to an agent that chooses between skills. */
  readonly description: string;
  readonly tags: readonly string[];
  /** Names of the operations that the skill may call. The skill can call no other operation. */
  readonly tools: readonly string[];
  readonly input: z.ZodObject<S, z.core.$strict>;
  /** Example arguments of the skill. A client replaces the ids in these examples with ids from earlier answers. */
  readonly examples: readonly z.input<z.ZodObject<S>>[];
  /** Throws a Failure if arguments that fit `input` contradict each other. This check runs before a task exists. */
  check?(input: z.output<z.ZodObject<S>>): void;
  /** Runs the skill and returns its artifact, which is a REST body. An error must not contain a value of the input. */
  run(context: SkillContext<z.output<z.ZodObject<S>>>): Promise<unknown>;
}

/** A skill declaration without its type parameters. */
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
  declaration as unknown as Skill; // sound: `run` and `check` receive only values that `input` has accepted
