import type { WebsiteKey } from './ids.ts';
import type { DataAccess, Grants, Restriction, Scope } from './scopes.ts';

/** The interfaces that an OAuth token can be bound to (RFC 8707). An installation token works on all of them. */
export const RESOURCES = ['rest', 'mcp', 'a2a'] as const;
export type Resource = (typeof RESOURCES)[number];

/** What a bearer may do, as the store had it at one moment. Every guarded statement proves that it still holds then. */
export interface Authority extends Grants {
  readonly digest: Uint8Array;
  readonly credentialId: string;
  readonly revision: number;
  /** The interface that an OAuth token is bound to. `null`: it is an installation token. */
  readonly audience: Resource | null;
  /** The consent of the person that the token comes from. `null`: the token needed no consent. */
  readonly consentId: string | null;
  readonly environment: 'live' | 'test';
  readonly organizationId: string;
  readonly appId: string;
  readonly installationId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly dataAccess: ReadonlySet<DataAccess>;
  readonly websites: ReadonlyMap<string, WebsiteKey>;
  /** Permitted public ids by dimension. An absent dimension is unrestricted; an empty list permits nothing. */
  readonly restrictions: Readonly<Partial<Record<Restriction, readonly string[]>>>;
  /** Unix seconds. */
  readonly expiresAt: number;
}

export const isRestricted = (authority: Authority): boolean => Object.keys(authority.restrictions).length > 0;
