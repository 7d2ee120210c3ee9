import type { Authority } from '../core/authority.ts';
import { isRestricted } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { both, type Requirement, SCOPES, type Scope } from '../core/scopes.ts';
import type { Skill } from '../core/skill.ts';
import type { Tool } from '../core/tool.ts';
import { inputErrors, refusalOf, unstorable } from './input-errors.ts';
import { lacking, mayCall, type Registry } from './registry.ts';

/** A skill and what the registry derives for it from the operations that it composes. */
export interface OfferedSkill {
  readonly skill: Skill;
  readonly tools: readonly Tool[];
  readonly required: Requirement;
  /** Whether only an unrestricted credential may run it. */
  readonly unrestricted: boolean;
}

/** All skills, in the order of their names. */
export class Skills {
  readonly all: readonly OfferedSkill[];
  readonly #byName: ReadonlyMap<string, OfferedSkill>;

  constructor(skills: readonly Skill[], registry: Registry) {
    this.all = skills.map((skill) => offered(skill, registry)).sort((a, b) => (a.skill.name < b.skill.name ? -1 : 1));
    this.#byName = new Map(this.all.map((one) => [one.skill.name, one]));
    if (this.#byName.size !== this.all.length) throw new Error('two skills have the same name');
  }

  /** Scopes that any of them needs, in the order of all scopes. */
  get scopes(): Scope[] {
    return SCOPES.filter((scope) => this.all.some(({ required }) => required.scopes.includes(scope)));
  }

  get(name: string): OfferedSkill | undefined {
    return this.#byName.get(name);
  }
}

function offered(skill: Skill, registry: Registry): OfferedSkill {
  const tools = skill.tools.map((name) => {
    const tool = registry.get(name);
    if (!tool) throw new Error(`skill ${skill.name} composes ${name}, which is no tool`);
    return tool;
  });
  return {
    skill,
    tools,
    required: both(...tools.map(({ required }) => required)),
    unrestricted: tools.some(({ restrictions }) => restrictions === 'refused'),
  };
}

/** Throws `not_permitted`, with what is lacking, where the authority may not call all that the skill composes. */
export function permit({ tools, required, unrestricted }: OfferedSkill, authority: Authority): void {
  if (tools.every((tool) => mayCall(tool, authority))) return;
  throw new Failure('not_permitted', {
    required: { ...lacking(authority, required), unrestricted: unrestricted && isRestricted(authority) },
  });
}

/** The arguments as the skill takes them; throws the Failure of those that do not fit, by name and never by value. */
export function argumentsOf(
  { skill }: OfferedSkill,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  // Every argument is like a member of a JSON body: what is wrong inside it is named by its place.
  const places = { parameters: Object.keys(skill.input.shape).map((name) => ({ name, in: 'body' as const })) };
  const parsed = skill.input.safeParse(given);
  const errors = parsed.success ? unstorable(places, given) : inputErrors(places, parsed.error, given);
  if (errors.length > 0) throw refusalOf(errors);
  const input = parsed.data ?? {};
  skill.check?.(input);
  return input;
}
