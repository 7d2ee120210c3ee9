import { readFileSync } from 'node:fs';
import { packageRoot } from '../config/package.ts';
import type { Authority } from '../core/authority.ts';
import { GUIDE_NAMES, type GuideName } from '../core/guides.ts';
import type { Grants, Scope } from '../core/scopes.ts';

/** One of these scopes gives access to the guide. An empty list: every credential has access. */
const GIVEN_BY: Readonly<Record<GuideName, readonly Scope[]>> = {
  overview: [],
  investigation: ['conversation_read'],
  contacts: ['contact_read'],
  reporting: ['reports_read'],
  configuration: ['config_read'],
  agent_tasks: [],
  event_recovery: ['event_read'],
};

function gives(name: GuideName, authority: Authority, hasSkill: HasSkill): boolean {
  if (name === 'agent_tasks') return hasSkill(authority);
  const scopes = GIVEN_BY[name];
  return scopes.length === 0 || scopes.some((scope) => authority.scopes.has(scope));
}

export interface Guides {
  given(authority: Authority): GuideName[];
  text(name: string, authority: Authority): string | null;
}

/** Guides hold no customer data, so the public documentation shows them all. */
export const readGuides = (): ReadonlyMap<GuideName, string> =>
  new Map(GUIDE_NAMES.map((name) => [name, readFileSync(new URL(`resources/guides/${name}.md`, packageRoot), 'utf8')]));

/** True if the grants are enough for at least one A2A skill. */
type HasSkill = (grants: Grants) => boolean;

/** One granted skill gives access to the guide `agent_tasks`. */
export function openGuides(hasSkill: HasSkill): Guides {
  const all = readGuides();
  return {
    given: (authority) => GUIDE_NAMES.filter((name) => gives(name, authority, hasSkill)),
    text: (name, authority) => {
      const guide = GUIDE_NAMES.find((known) => known === name);
      return guide && gives(guide, authority, hasSkill) ? (all.get(guide) ?? null) : null;
    },
  };
}
