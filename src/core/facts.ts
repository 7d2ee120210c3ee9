import type { GuideName } from './guides.ts';
import type { Requirement } from './scopes.ts';

export interface GatewayFacts {
  /** The operations that the credential can call, without those that have no MCP tool. */
  operations(): OperationFacts[];
  /** Every operation of the gateway, with what the credential lacks for it. */
  access(): AccessFacts[];
  guides(): GuideName[];
  /** Returns null if the guide does not exist or if the caller may not read the guide. */
  guide(name: string): string | null;
  /** Address of the page that shows a record to a person. */
  page(id: string): string;
}

export interface OperationFacts {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly kind: 'read' | 'write';
  readonly scopes: readonly string[];
  readonly data_access: readonly string[];
  readonly unrestricted_required: boolean;
  readonly author_required: boolean;
}

interface Lack extends Requirement {
  readonly parameter: string;
  readonly unrestricted: boolean;
}

/** What a credential lacks for one operation. Authors are not part of these facts. */
export interface AccessFacts {
  readonly operation: string;
  /** True when the scopes, the flags, the restrictions and the kind of the token permit the operation. */
  readonly granted: boolean;
  readonly lacks: Requirement;
  /** The alternatives that a caller can ask for, such as `kinds=notes`, if the operation needs one and none is met. */
  readonly alternatives: readonly Lack[];
  /** True when the operation refuses the credential because the credential has restrictions. */
  readonly unrestricted: boolean;
  /** True when the operation refuses all tokens from a person's consent. */
  readonly consentRefused: boolean;
  /** True when the token of the call comes from a person's consent. */
  readonly ofConsent: boolean;
  /** True when the operation needs a mapped author. */
  readonly author: boolean;
  readonly restOnly: boolean;
  /** What the credential cannot ask for, such as `kinds=notes`, and what it lacks for that. */
  readonly parameters: readonly Lack[];
  /** The parts that an answer leaves out, such as `notes`, and what the credential lacks for each part. */
  readonly parts: readonly Lack[];
}
