import { readFileSync } from 'node:fs';
import type { Authority } from '../core/authority.ts';
import { packageRoot } from '../core/package.ts';
import { type Grants, type Scope } from '../core/scopes.ts';

export const GUIDES = ['overview', 'investigation', 'contacts', 'reporting', 'configuration', 'agent_tasks', 'event_recovery'] as const;
export type GuideName = (typeof GUIDES)[number];

/** Which scopes, any one of them, give a guide (decisions, section 9); none: every credential has it. */
const GIVEN_BY: Readonly<Record<GuideName, readonly Scope[]>> = {
  overview: [],
  investigation: ['conversation_read'],
  contacts: ['contact_read'],
  reporting: ['reports_read'],
  configuration: ['config_read'],
  agent_tasks: [],
  event_recovery: ['event_read'],
};

export interface Guides {
  given(authority: Authority): GuideName[];
  text(name: string, authority: Authority): string | null;
}

/** Reads the guides once. `skills`: whether the authority may use any A2A skill, which gives `agent_tasks`. */
export function openGuides(skills: (grants: Grants) => boolean): Guides {
  const texts = new Map<string, string>(
    GUIDES.map((name) => [name, readFileSync(new URL(`resources/guides/${name}.md`, packageRoot), 'utf8')]),
  );
  const gives = (name: GuideName, authority: Authority): boolean => {
    if (name === 'agent_tasks') return skills(authority);
    const scopes = GIVEN_BY[name];
    return scopes.length === 0 || scopes.some((scope) => authority.scopes.has(scope));
  };
  return {
    given: (authority) => GUIDES.filter((name) => gives(name, authority)),
    text: (name, authority) => {
      const guide = GUIDES.find((known) => known === name);
      return guide && gives(guide, authority) ? (texts.get(guide) ?? null) : null;
    },
  };
}
