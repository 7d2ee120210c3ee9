import { type Authority, isRestricted, meets } from '../core/authority.ts';
import { type Condition, isAlternative } from '../core/conditions.ts';
import { Failure } from '../core/failures.ts';
import { givenOf, type Parameter, parametersOf } from '../core/parameters.ts';
import { both, type Grants, holds, type Requirement, SCOPES, type Scope } from '../core/scopes.ts';
import type { Skill } from '../core/skill.ts';
import type { Tool } from '../core/tool.ts';
import { inputErrors, refusalOf, unstorable } from './input-errors.ts';
import { lacking, mayCall, type Registry, switchedOff } from './registry.ts';

export interface OfferedSkill {
  readonly skill: Skill;
  readonly tools: readonly Tool[];
  readonly required: Requirement;
  readonly unrestricted: boolean;
  /** The caller must meet one of these, if there are any. */
  readonly alternatives: readonly Condition[];
  /** Grants without which parts of the artifact are left out. */
  readonly optional: Requirement;
  readonly parameters: readonly Parameter[];
}

export class Skills {
  readonly all: readonly OfferedSkill[];
  readonly #byName: ReadonlyMap<string, OfferedSkill>;

  constructor(skills: readonly Skill[], registry: Registry) {
    this.all = skills.map((skill) => offered(skill, registry)).sort((a, b) => (a.skill.name < b.skill.name ? -1 : 1));
    this.#byName = new Map(this.all.map((one) => [one.skill.name, one]));
    if (this.#byName.size !== this.all.length) throw new Error('two skills have the same name: rename one of them');
  }

  /** All scopes that a skill can use. */
  get scopes(): Scope[] {
    return SCOPES.filter((scope) => this.all.some((one) => usable(one).includes(scope)));
  }

  get names(): string[] {
    return this.all.map(({ skill }) => skill.name);
  }

  /** The skills that an authority may use. */
  usableBy(authority: Authority): OfferedSkill[] {
    return this.all.filter((one) => mayUse(one, authority));
  }

  get(name: string): OfferedSkill | undefined {
    return this.#byName.get(name);
  }
}

/** The scopes that a skill needs, or without which its answer has less. */
export const usable = ({ required, alternatives, optional }: OfferedSkill): readonly Scope[] =>
  both(required, optional, ...alternatives).scopes;

function offered(skill: Skill, registry: Registry): OfferedSkill {
  const tools = skill.tools.map((name) => {
    const tool = registry.get(name);
    if (!tool) throw new Error(`skill ${skill.name} names the tool ${name}, which does not exist: correct its tools`);
    return tool;
  });
  return {
    skill,
    tools,
    required: both(...tools.map(({ required }) => required)),
    unrestricted: tools.some(({ restrictions }) => restrictions === 'refused'),
    alternatives: tools.flatMap(({ when }) => when.filter(isAlternative)),
    optional: both(...tools.flatMap(({ parts }) => Object.values(parts))),
    // As of a query, because a skill reads.
    parameters: parametersOf(skill.input.shape, 'query'),
  };
}

const mayUse = ({ tools }: OfferedSkill, authority: Authority): boolean =>
  tools.every((tool) => mayCall(tool, authority));

/** True if the grants are enough for the skill. Restrictions can still refuse it. */
export const isGranted = ({ required, alternatives }: OfferedSkill, grants: Grants): boolean =>
  holds(grants, required) && (alternatives.length === 0 || alternatives.some((one) => holds(grants, one)));

/** Throws `not_permitted`, with the missing requirements, unless the caller may call every tool of the skill. */
export function permit(offered: OfferedSkill, authority: Authority): void {
  if (mayUse(offered, authority)) return;
  const { tools, required, unrestricted, alternatives } = offered;
  if (tools.some(({ name }) => authority.switchedOff.has(name))) throw switchedOff();
  // The corridor names the first alternative too, if only an alternative is missing.
  const [first] = holds(authority, required) ? alternatives.filter((one) => !meets(authority, one)) : [];
  const needed = first ?? { ...required, unrestricted };
  throw new Failure('not_permitted', {
    required: {
      ...lacking(authority, needed),
      unrestricted: (unrestricted || needed.unrestricted === true) && isRestricted(authority),
    },
  });
}

/** Throws a Failure that names the wrong arguments and never repeats their values. */
export function argumentsOf(
  { skill, parameters }: OfferedSkill,
  received: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const given = givenOf(parameters, received, true);
  // As a JSON body, so that each error has a JSON pointer.
  const places = {
    input: skill.input,
    parameters: parameters.map(({ name }) => ({ name, in: 'body' as const })),
  };
  const parsed = skill.input.safeParse(given);
  const errors = parsed.success ? unstorable(places, given) : inputErrors(places, parsed.error, given);
  if (errors.length > 0) throw refusalOf(errors);
  const input = parsed.data ?? {};
  skill.check?.(input);
  return input;
}
