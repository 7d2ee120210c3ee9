import type { z } from 'zod';

import type { Shape } from './parameters.ts';

type SkillInput = Readonly<Record<string, unknown>>;

export interface SkillContext<I> {
  readonly input: I;
  /** Calls an operation with the caller's authority. Returns the REST body, or throws the call's Failure. */
  call(tool: string, input: SkillInput): Promise<unknown>;
}

/** An A2A skill: a task that takes several operations. The caller must be allowed to call all of them. */
export interface SkillDeclaration<S extends Shape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly tools: readonly string[];
  readonly input: z.ZodObject<S, z.core.$strict>;
  /** Example arguments. They run as they stand on the demo data, whose ids are fixed by the order of its files. */
  readonly examples: readonly z.input<z.ZodObject<S>>[];
  /** Throws a Failure if valid arguments contradict each other. Runs before the task is created. */
  check?(input: z.output<z.ZodObject<S>>): void;
  /** Returns the artifact, a REST body. An error must not contain a value of the input. */
  run(context: SkillContext<z.output<z.ZodObject<S>>>): Promise<unknown>;
}

export interface Skill extends Pick<SkillDeclaration<Shape>, 'name' | 'title' | 'description' | 'tags' | 'tools'> {
  readonly input: z.ZodObject;
  readonly examples: readonly SkillInput[];
  check?(input: SkillInput): void;
  run(context: SkillContext<SkillInput>): Promise<unknown>;
}

export const defineSkill = <S extends Shape>(declaration: SkillDeclaration<S>): Skill =>
  declaration as unknown as Skill; // the cast is sound, because `run` and `check` receive only values that `input` has accepted
