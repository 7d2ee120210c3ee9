/** The authority of a credential, in the words of the contract. The rows of the operations use these names. */
export const ALL_SCOPES = [
  'website_read',
  'health_read',
  'conversation_read',
  'contact_read',
  'contact_read_pii',
  'visitor_notes_read',
  'config_read',
  'config_plan',
  'ai_features_read',
  'ai_execute',
  'reports_read',
  'file_read',
  'message_content_read',
  'visitor_notes_write',
  'conversation_update',
  'directory_read',
  'live_read',
  'event_read',
  'internal_notes_read',
] as const;
export type Scope = (typeof ALL_SCOPES)[number];
export const ALL_FLAGS = ['message_content', 'pii', 'internal_notes'] as const;
export type Flag = (typeof ALL_FLAGS)[number];

export interface Grants {
  readonly scopes: readonly Scope[];
  readonly flags: readonly Flag[];
}
export const FULL: Grants = { scopes: ALL_SCOPES, flags: ALL_FLAGS };

/** All grants but one: without each scope, then without each flag. */
export const LACKING: readonly [name: string, grants: Grants][] = [
  ...ALL_SCOPES.map((gone): [string, Grants] => [
    `without ${gone}`,
    { ...FULL, scopes: ALL_SCOPES.filter((scope) => scope !== gone) },
  ]),
  ...ALL_FLAGS.map((gone): [string, Grants] => [
    `without the flag ${gone}`,
    { ...FULL, flags: ALL_FLAGS.filter((flag) => flag !== gone) },
  ]),
];

/**
 * A grant that a member needs in addition to the grants of its operation. `!ai_execute` means that the member exists
 * only without the grant `ai_execute`. `unrestricted` means that restricted credentials do not get the member.
 */
export type Need = Scope | Flag | '!ai_execute' | 'unrestricted';
export const PII: readonly Need[] = ['contact_read_pii', 'pii'];
export const MSG: readonly Need[] = ['message_content_read', 'message_content'];
export const MSG_PII: readonly Need[] = [...MSG, ...PII];
export const DIRECTORY: readonly Need[] = ['directory_read'];
/** The grants for notes beside those of the record that has the notes. */
export const NOTES: readonly Need[] = ['visitor_notes_read', 'contact_read_pii', ...ALL_FLAGS];

export const holdsAll = (grants: Grants, needs: readonly Need[]): boolean => {
  const held: readonly string[] = [...grants.scopes, ...grants.flags];
  return needs.every((need) => {
    if (need === 'unrestricted') return true;
    return need === '!ai_execute' ? !held.includes('ai_execute') : held.includes(need);
  });
};

const flagOf = (need: Need): need is Flag => ALL_FLAGS.some((flag) => flag === need);
const scopeOf = (need: Need): need is Scope => ALL_SCOPES.some((scope) => scope === need);
export const grantsOf = (needs: readonly Need[]): Grants => ({
  scopes: needs.filter(scopeOf),
  flags: needs.filter(flagOf),
});

/** The members of an object. Each member names the grants that it needs in addition to those of the operation. */
export type Members = Readonly<Record<string, readonly Need[]>>;

export const granted = (members: Members, grants: Grants, restricted?: Restricted): string[] =>
  Object.keys(members)
    .filter((name) => holdsAll(grants, members[name] ?? []))
    .filter((name) => !(restricted && members[name]?.includes('unrestricted')))
    .sort();

export const DIMENSIONS = ['channel_ids', 'team_ids', 'subsite_ids'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export interface Restricted {
  readonly dimension: Dimension;
  /**
   * The numbers of the permitted channels, teams or subsites. Each channel, team or subsite with number 1 contains
   * conversations 1 and 3. Number 9 contains no conversation. An empty list permits nothing.
   */
  readonly ids: readonly number[];
}

const PLACES = {
  channel_ids: ['channels', 'chn'],
  team_ids: ['teams', 'tem'],
  subsite_ids: ['subsites', 'sst'],
} as const;

/** The restriction as a member of a grant, for the first website. */
export function limitsOf(restricted: Restricted | undefined): {
  channels?: string[];
  teams?: string[];
  subsites?: string[];
} {
  if (restricted === undefined) return {};
  const [member, prefix] = PLACES[restricted.dimension];
  return { [member]: restricted.ids.map((id) => `${prefix}_1_1_${id}`) };
}
