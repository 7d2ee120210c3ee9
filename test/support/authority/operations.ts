import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import { packageRoot } from '../../../src/config/package.ts';
import { type Flag, type Grants, granted, holdsAll, type Restricted, type Scope } from './grants.ts';
import { cursorOf, subscriptionId } from './planted.ts';
import { type Case, type Given, plain, type Realtime, type Row, type SubscriptionCase, type WriteCase } from './row.ts';

/** A case of an operation, with its name and with the members that a row can leave out. */
export interface Operation extends Case {
  readonly tool: string;
  readonly scopes: readonly Scope[];
  readonly flags: readonly Flag[];
  readonly given?: Given & { readonly flags: readonly Flag[] };
  readonly website: NonNullable<Case['website']>;
}
export type Write = Operation & WriteCase;
export type SubscriptionWrite = Operation & SubscriptionCase;

const FOLDER = new URL('../../tools/', import.meta.url);
const EXTENSION = import.meta.url.slice(-2);

/** The files with a row, relative to test/tools/. Each has the path that the declaration has in tools/. */
export const ROWS = readdirSync(new URL('test/tools/', packageRoot), { recursive: true, encoding: 'utf8' })
  .filter((name) => /^\w+\/[\w-]+\.ts$/.test(name))
  .sort();

const rows = await Promise.all(
  ROWS.map(async (file): Promise<[tool: string, row: Row]> => {
    // The cast is needed, because the name of the file is not known to the compiler. A row of another form fails below.
    const module = (await import(new URL(file.replace(/ts$/, EXTENSION), FOLDER).href)) as { default: Row };
    return [file.replace(/^.*\/(.*)\.ts$/, '$1').replaceAll('-', '_'), module.default];
  }),
);

function whole<C extends Case>(tool: string, one: C): Operation & C {
  const { path, scopes = [], flags = [], given, members } = one;
  const ofData = Object.keys(members).some((pointer) => /^data\b/.test(pointer));
  return {
    website: path.includes('{web}') ? 'required' : /\{[a-z]{3}:\d+\}/.test(path) ? 'optional' : 'none',
    ...one,
    ...{ tool, scopes, flags },
    ...(given && { given: { flags: [], ...given } }),
    members: { ...(ofData && { '': plain('data') }), ...members },
  };
}

export const OPERATIONS: readonly Operation[] = rows.flatMap(([tool, row]) =>
  'reads' in row ? row.reads.map((one) => whole(tool, one)) : [],
);
export const WRITES: readonly Write[] = rows.flatMap(([tool, row]) => ('write' in row ? [whole(tool, row.write)] : []));
export const WRITES_BY_POLICY: readonly Write[] = rows.flatMap(([tool, row]) =>
  'byPolicy' in row ? [whole(tool, row.byPolicy)] : [],
);
/** The writes on subscriptions, in an order in which one credential can send them all. The last write is the deletion. */
export const SUBSCRIPTION_WRITES: readonly SubscriptionWrite[] = rows
  .flatMap(([tool, row]) => ('subscription' in row ? [whole(tool, row.subscription)] : []))
  .sort((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'));
export const REALTIME: Readonly<Record<string, Realtime>> = Object.fromEntries(
  rows.flatMap(([tool, row]) => ('realtime' in row ? [[tool, row.realtime]] : [])),
);

/** The first case of each tool that needs no further grants for a parameter. */
export const firstOf = <T extends Operation>(all: readonly T[]): T[] =>
  all.filter(({ tool, given }, i) => given === undefined && all.findIndex((one) => one.tool === tool) === i);

export const nameOf = ({ tool, variant }: Operation): string => (variant === undefined ? tool : `${tool} (${variant})`);

/** Returns the path of an operation, filled with ids of the website's records. */
export function pathOf(operation: Operation, website: string, receipt = `op_${'0'.repeat(64)}`): string {
  const tail = website.slice('web_'.length);
  const path = operation.path
    .replace('{web}', website)
    .replace('{receipt}', receipt)
    .replace('{sub}', subscriptionId(`crd_${receipt.slice(3, 35)}`))
    .replace('{after}', () => cursorOf(`crd_${receipt.slice(3, 35)}`))
    .replace(/\{([a-z]{3}):(\d+)\}/g, (_, prefix, id) => `${prefix}_${tail}_${id}`);
  return `/api/v1${path}`;
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly required?: { scopes: readonly string[]; data_access: readonly string[]; unrestricted: boolean };
}

/**
 * The refusal of a valid credential with these grants and restrictions, for a website that the credential holds.
 * Undefined when the call must succeed.
 */
export function refusalOf(
  operation: Operation,
  grants: Grants,
  restricted: Restricted | undefined,
): Refusal | undefined {
  const missing = ({ scopes, flags }: { scopes: readonly Scope[]; flags: readonly Flag[] }) => ({
    scopes: scopes.filter((scope) => !grants.scopes.includes(scope)),
    data_access: flags.filter((flag) => !grants.flags.includes(flag)),
    unrestricted: operation.unrestricted === true && restricted !== undefined,
  });
  const denied = ({ scopes, data_access, unrestricted }: ReturnType<typeof missing>): boolean =>
    scopes.length > 0 || data_access.length > 0 || unrestricted;
  for (const asked of [operation, ...(operation.given ? [operation.given] : [])]) {
    const required = missing(asked);
    if (denied(required)) return { status: 404, code: 'not_permitted', required };
  }
  const { hidden } = operation;
  if (hidden?.unrestricted && restricted) return NOT_FOUND;
  if (hidden && !hidden.oneOf.some((needs) => holdsAll(grants, needs))) return NOT_FOUND;
  if (operation.ofConversation && restricted && !restricted.ids.includes(1)) return NOT_FOUND;
  return undefined;
}

/** The required grants of a refusal, in a fixed order. */
export const inOrder = (required: Refusal['required']): Refusal['required'] =>
  required && { ...required, scopes: [...required.scopes].sort(), data_access: [...required.data_access].sort() };

export const NOT_FOUND: Refusal = { status: 404, code: 'not_found' };

/** Returns every value at a pointer of member names. `*` stands for each element of a list. */
export function valuesAt(body: unknown, pointer: string): unknown[] {
  return pointer
    .split('.')
    .filter((step) => step !== '')
    .reduce<unknown[]>(
      (values, step) =>
        values.flatMap((value) => {
          if (step === '*') return Array.isArray(value) ? value : [];
          return value !== null && typeof value === 'object' ? [Reflect.get(value, step)] : [];
        }),
      [body],
    );
}

/** Each object of the answer has exactly the members that its row names for these grants. */
export function expectMembers(
  { members }: Operation,
  body: unknown,
  grants: Grants,
  restricted: Restricted | undefined,
  where: string,
): void {
  for (const [pointer, named] of Object.entries(members))
    for (const object of valuesAt(body, pointer))
      expect(Object.keys(Object(object)).sort(), `${where} ${pointer}`).toEqual(granted(named, grants, restricted));
}

/** The native ids of the rows in the answer of a list. */
export const idsIn = (body: unknown, [pointer, member]: NonNullable<Case['list']>): number[] =>
  valuesAt(body, `${pointer}.*.${member}`).map((id) => Number(String(id).split('_').at(-1)));
