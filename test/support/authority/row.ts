import type { Dimension, Flag, Members, Need, Restricted, Scope } from './grants.ts';

/**
 * A row says what one operation must do. It stands in test/tools/, in a file with the name of the declaration. It is
 * written by hand from the contract and does not use the declaration that it checks.
 */
export type Row =
  | { readonly reads: readonly Case[] }
  | { readonly write: WriteCase }
  | { readonly byPolicy: WriteCase }
  | { readonly subscription: SubscriptionCase }
  | { readonly realtime: Realtime };

/** Each case is one call. The first case describes the operation as a whole. */
export const reads = (...cases: Case[]): Row => ({ reads: cases });
export const write = (one: WriteCase): Row => ({ write: one });
/** A write that exists only for credentials whose policy names it. So the derived tests of all operations leave it out. */
export const writeByPolicy = (one: WriteCase): Row => ({ byPolicy: one });
export const subscriptionWrite = (one: SubscriptionCase): Row => ({ subscription: one });
export const realtime = (one: Realtime): Row => ({ realtime: one });

/** The native ids of the rows that a list shows, in the list's order. */
type Rows = (restricted: Restricted | undefined) => readonly number[];

/**
 * The rows of one table that an answer shows. Each column names the grants that it needs in addition to those of the
 * operation.
 */
export type Shown = readonly [
  table: string,
  rows: readonly number[],
  columns: Readonly<Record<string, readonly Need[]>>,
];

export interface Given {
  readonly parameter: string;
  /** Only the value `true` needs the grants. */
  readonly is?: true;
  /** Only comma-separated lists with this entry need the grants. */
  readonly has?: string;
  readonly scopes: readonly Scope[];
  readonly flags?: readonly Flag[];
}

export interface Case {
  /** Distinguishes several cases of one operation. */
  readonly variant?: string;
  /** The path with the names of its parameters. Absent when the ids in `path` already tell the names. */
  readonly template?: string;
  /**
   * The path under /api/v1. `{web}` stands for the website's id, and `{xyz:1}` for the id of record 1 with the prefix
   * xyz.
   */
  readonly path: string;
  readonly scopes?: readonly Scope[];
  readonly flags?: readonly Flag[];
  /**
   * The operation has alternatives, such as several kinds of ids. The scopes, flags and `unrestricted` of this case hold
   * for this alternative, and other cases have the other alternatives.
   */
  readonly kind?: string;
  /** The grants that a parameter of this case needs in addition. */
  readonly given?: Given;
  /** True when the contract says "unrestricted policy". */
  readonly unrestricted?: true;
  /** True when the contract says "no human-consent OAuth token". */
  readonly noConsent?: true;
  /**
   * required: the call has a website_id parameter. optional: the id of the resource names the website, and website_id can
   * repeat the website. byId: only the id names the website. none: the call does not concern one website. Absent:
   * required for a path with `{web}`, optional for a path with `{xyz:1}`, and none for other paths.
   */
  readonly website?: 'required' | 'optional' | 'byId' | 'none';
  /**
   * The members of each object of the answer, by the pointer to the object. Absent for the whole body: if the answer has
   * the member `data`, that is its only member.
   */
  readonly members: Readonly<Record<string, Members>>;
  /**
   * Describes the rows of a list: the JSON pointer to the rows, the member with the id of a row, and the expected rows.
   */
  readonly list?: readonly [pointer: string, idMember: string, rows: Rows];
  /** True when the record belongs to conversation 1. A caller who cannot see this conversation gets `not_found`. */
  readonly ofConversation?: true;
  /**
   * A caller gets `not_found` instead of `not_permitted` without all grants of one of the sets. With `unrestricted`, a
   * restricted credential gets `not_found` as well.
   */
  readonly hidden?: { readonly oneOf: readonly (readonly Need[])[]; readonly unrestricted?: true };
  /** Members that are null for a caller without the grant. They are present in every answer. */
  readonly nulls?: Members;
  /** For a list: the prefix of the ids in its cursors. Empty when a cursor contains only a number. */
  readonly cursor?: string;
  /** The stored texts that the answer shows. Absent if the answer shows no stored text. */
  readonly shows?: readonly Shown[];
  /** JSON pointers to the texts that visitors, contacts, operators or bots wrote. `*` stands for any index. */
  readonly outsiders?: readonly string[];
  /** JSON pointers to names from an administrator's settings. Such names are labels and not messages of people. */
  readonly configured?: readonly string[];
}

/** A reviewed write. */
export interface WriteCase extends Case {
  /** The body of a call that succeeds on a website with the disposition `settled`. */
  readonly body: (website: string) => Readonly<Record<string, unknown>>;
  /** The name of the MCP argument for the record in the REST path, and the prefix of the record's id. */
  readonly subject?: readonly [argument: string, prefix: string];
  /** True when the credential must have an author: an operator in whose name it writes. */
  readonly author: boolean;
  /** The event types of the receipts that one successful write adds to the journal. */
  readonly receipts: readonly string[];
  readonly notes: number;
}

/** A write on a subscription. The idempotency key is optional. The write needs no author and leaves no receipt. */
export interface SubscriptionCase extends Case {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly status: number;
  readonly body?: (website: string) => Readonly<Record<string, unknown>>;
  readonly revision?: true;
}

/** A realtime operation. All of them need website_read and event_read, and none has an MCP tool. */
export interface Realtime {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The members of the request body. Absent if the request has no body. */
  readonly body?: readonly string[];
}

export const plain = (...names: string[]): Members => columns([], ...names);
export const columns = (needs: readonly Need[], ...names: string[]): Members =>
  Object.fromEntries(names.map((name) => [name, needs]));
export const page = (member: string): Members => plain(member, 'next_cursor', 'coverage');
export const at = (pointer: string, ...names: string[]): string[] => names.map((name) => `${pointer}/${name}`);

/**
 * The rows of a list of conversations or their parts. `all` is for an unrestricted caller. `inFirst` is for a caller
 * who may see only place 1, which is one channel, team or subsite.
 */
export const through =
  (all: readonly number[], inFirst: readonly number[]): Rows =>
  (restricted) =>
    restricted === undefined ? all : restricted.ids.includes(1) ? inFirst : [];
export const always =
  (...ids: number[]): Rows =>
  () =>
    ids;
/**
 * The rows of a directory, for example of all teams. A restriction to one team hides the other teams, but a restriction
 * to a channel does not.
 */
export const directory =
  (dimension: Dimension): Rows =>
  (restricted) =>
    restricted?.dimension === dimension ? [2, 1].filter((id) => restricted.ids.includes(id)) : [2, 1];
