import type { GuideName } from './guides.ts';

/** The facts that the gateway knows about itself. A few operations return these facts. */
export interface GatewayFacts {
  /** Returns the operations that this authority may call. */
  operations(): OperationFacts[];
  guides(): GuideName[];
  /** Returns the text of a guide. `null` means that the guide does not exist or that the authority may not read it. */
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
