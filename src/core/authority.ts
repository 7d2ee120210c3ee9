import type { WebsiteKey } from './ids.ts';
import type { DataAccess, Grants, Restriction, Scope } from './scopes.ts';

/** What a bearer may do, as the store had it at one moment. Every guarded statement proves that it still holds. */
export interface Authority extends Grants {
  readonly digest: Uint8Array;
  readonly credentialId: string;
  readonly revision: number;
  readonly environment: 'live' | 'test';
  readonly organizationId: string;
  readonly appId: string;
  readonly installationId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly dataAccess: ReadonlySet<DataAccess>;
  readonly websites: ReadonlyMap<string, WebsiteKey>;
  /** Public ids; a dimension that is absent is unrestricted, an empty list permits nothing. */
  readonly restrictions: Readonly<Partial<Record<Restriction, readonly string[]>>>;
  /** Unix seconds. */
  readonly expiresAt: number;
}

export const isRestricted = (authority: Authority): boolean => Object.keys(authority.restrictions).length > 0;
