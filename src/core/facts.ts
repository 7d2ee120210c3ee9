import type { GuideName } from './guides.ts';

/** What the gateway knows about itself. A few operations return it. */
export interface GatewayFacts {
  /** The operations that this authority may call. */
  operations(): OperationFacts[];
  guides(): GuideName[];
  /** The text of a guide. `null`: there is no such guide, or the authority may not read it. */
  guide(name: string): string | null;
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
