import type { Administrator } from '../store/administration/administrator.ts';
import { switchOperations } from '../store/administration/apps.ts';
import type { Database } from '../store/driver/postgres.ts';
import type { Registry } from './registry.ts';

/** No operation has one of the names. */
export class UnknownOperations extends Error {
  override readonly name = 'UnknownOperations';

  constructor(readonly names: readonly string[]) {
    super('no operation has one of the names');
  }
}

export interface Switches {
  readonly off: readonly string[];
  readonly on: readonly string[];
}

/**
 * Switches operations off and on for an app of the organization `tenant`. The next call sees the change, over every
 * interface. Returns the operations that are off now. Undefined if the organization has no such app. Throws
 * UnknownOperations and then changes nothing. Without an administrator, the command line calls.
 */
export async function switchTools(
  db: Database,
  registry: Registry,
  app: { readonly id: string; readonly tenant: string },
  { off, on }: Switches,
  by?: Administrator,
): Promise<string[] | undefined> {
  // The realtime operations are no tools, so `get` does not know them. An alias stands for the tool.
  const known = (name: string) => registry.get(name) ?? registry.operations.find((one) => one.name === name);
  const unknown = [...off, ...on].filter((name) => !known(name));
  if (unknown.length > 0) throw new UnknownOperations(unknown);
  const named = (names: readonly string[]): string[] => names.flatMap((name) => known(name)?.name ?? []);
  return switchOperations(db, app, { off: named(off), on: named(on) }, by);
}
