import type { GuideName } from './guides.ts';

export interface GatewayFacts {
  operations(): OperationFacts[];
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
