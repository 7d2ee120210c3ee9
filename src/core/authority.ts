import type { WebsiteKey } from './ids.ts';
import { type Grants, holds, type Requirement, type Restriction, SCOPES } from './scopes.ts';

/** The interfaces that an OAuth token can be bound to (RFC 8707). An installation token works on every interface. */
export const RESOURCES = ['rest', 'mcp', 'a2a'] as const;
export type Resource = (typeof RESOURCES)[number];

/** The operations that wait for a person by default. gateway.must_wait decides which of their writes do. */
export const WAIT_BY_DEFAULT: readonly string[] = ['conversation_reply'];

/** The operations of a credential whose writes, or some of them, wait for a person. */
export const waitsOf = (policy: {
  readonly approve: readonly string[];
  readonly write: readonly string[];
  readonly without_approval: readonly string[];
}): readonly string[] => {
  const byDefault = WAIT_BY_DEFAULT.filter((name) => policy.write.includes(name));
  return [...new Set([...policy.approve, ...byDefault.filter((name) => !policy.without_approval.includes(name))])];
};

/** What a reader of data may see at one moment. The reader is an app with a token, or a signed-in person. */
export interface Rights extends Grants {
  /** SHA-256 of the secret: of the token, or of the session. */
  readonly digest: Uint8Array;
  readonly websites: ReadonlyMap<string, WebsiteKey>;
  /** The public ids that the reader may see, by dimension. No list means no limit. An empty list permits nothing. */
  readonly restrictions: Readonly<Partial<Record<Restriction, readonly string[]>>>;
}

/** The rights of a bearer token at one moment. Every SQL statement of a call checks that the rights are unchanged. */
export interface Authority extends Rights {
  readonly credentialId: string;
  readonly revision: number;
  /** The interface that the OAuth token is bound to. `null` means that the token is an installation token. */
  readonly audience: Resource | null;
  /** Id of the consent under which the token was issued. `null` means that the token needed no consent. */
  readonly consentId: string | null;
  /** The person who gave this consent. */
  readonly personId: string | null;
  /** True for a client by URL, which a person has approved. Such a client can ask the person for more scopes. */
  readonly clientByUrl: boolean;
  readonly environment: 'live' | 'test';
  readonly organizationId: string;
  readonly appId: string;
  readonly installationId: string;
  /** Says whether the token may be used from an IP address. Null: from every address. */
  readonly admits: ((address: string | undefined) => boolean) | null;
  /** The names of the operations that the owner has switched off for the app. */
  readonly switchedOff: ReadonlySet<string>;
  /** The names of the operations that exist only by a policy, and that this credential's policy names. */
  readonly write: ReadonlySet<string>;
  /** The names of the operations whose writes, or some of them, a person must approve first. */
  readonly approve: ReadonlySet<string>;
  /** Unix seconds. */
  readonly expiresAt: number;
}

/** The rights of a signed-in person on a record's page. Each SQL statement checks them and the session again. */
export interface PersonAuthority extends Rights {
  readonly personId: string;
  /** The organization in the key (tenant, site) of every row. */
  readonly tenant: string;
}

export type Actor = Authority | PersonAuthority;

/** What a token can do now, as answers tell it. `expires_at` is in Unix seconds. */
export type ScopeEffective = ReturnType<typeof effectiveOf>;

export const effectiveOf = ({ scopes, websites, dataAccess, expiresAt }: Authority) => ({
  scopes: SCOPES.filter((scope) => scopes.has(scope)),
  website_ids: [...websites.keys()],
  data_access: {
    message_content: dataAccess.has('message_content'),
    pii: dataAccess.has('pii'),
    internal_notes: dataAccess.has('internal_notes'),
  },
  expires_at: expiresAt,
});

export const isRestricted = (authority: Rights): boolean => Object.keys(authority.restrictions).length > 0;

/** A requirement. If `unrestricted` is true, a credential with restrictions never meets it. */
export type Demand = Requirement & { readonly unrestricted?: boolean };

export const meets = (authority: Rights, demand: Demand): boolean =>
  holds(authority, demand) && !(demand.unrestricted && isRestricted(authority));
