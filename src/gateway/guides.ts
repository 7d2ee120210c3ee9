import { readFileSync } from 'node:fs';
import type { Authority } from '../core/authority.ts';
import { GUIDE_NAMES, type GuideName } from '../core/guides.ts';
import { holds, type Requirement, type Scope } from '../core/scopes.ts';
import { packageRoot } from '../package.ts';

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

/** What the A2A skills of the contract ask for: holding any one of these gives `agent_tasks`. */
const SKILLS: readonly Requirement[] = [
  { scopes: ['reports_read', 'conversation_read'], dataAccess: [] },
  {
    scopes: ['conversation_read', 'message_content_read', 'contact_read_pii'],
    dataAccess: ['message_content', 'pii'],
  },
  { scopes: ['config_read'], dataAccess: [] },
  { scopes: ['contact_read'], dataAccess: [] },
  { scopes: ['ai_features_read', 'ai_execute'], dataAccess: [] },
];

function gives(name: GuideName, authority: Authority): boolean {
  if (name === 'agent_tasks') return SKILLS.some((skill) => holds(authority, skill));
  const scopes = GIVEN_BY[name];
  return scopes.length === 0 || scopes.some((scope) => authority.scopes.has(scope));
}

export interface Guides {
  given(authority: Authority): GuideName[];
  /** `null`: no such guide, or not given to this authority. */
  text(name: string, authority: Authority): string | null;
  /** All of them, for the public documents: guides hold no one's data. */
  readonly all: ReadonlyMap<GuideName, string>;
}

/** Reads the guides once. */
export function openGuides(): Guides {
  const all = new Map(
    GUIDE_NAMES.map((name) => [name, readFileSync(new URL(`resources/guides/${name}.md`, packageRoot), 'utf8')]),
  );
  return {
    all,
    given: (authority) => GUIDE_NAMES.filter((name) => gives(name, authority)),
    text: (name, authority) => {
      const guide = GUIDE_NAMES.find((known) => known === name);
      return guide && gives(guide, authority) ? (all.get(guide) ?? null) : null;
    },
  };
}
