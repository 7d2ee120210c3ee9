/** A value of a record. Times look like 2026-11-23T09:00:00.000000Z. Undefined is not compared. */
export type Member = string | number | boolean | null | undefined | readonly string[];
export type Row = Readonly<Record<string, Member>>;

export const STORED = [
  'organization',
  'website',
  'channel',
  'team',
  'operator',
  'contact',
  'visitor',
  'saved_response',
  'conversation',
  'message',
  'file',
  'note',
] as const;
export type Stored = (typeof STORED)[number];

export interface Held {
  readonly members: Row;
  readonly optional: boolean;
}

/** By type and external id. References in the members are external ids. */
export type World = Readonly<Record<Stored, Map<string, Held>>>;

export const emptyWorld = (): World =>
  Object.fromEntries(STORED.map((type) => [type, new Map<string, Held>()])) as unknown as World; // every type of STORED gets its map

export type Difference = { readonly type: Stored; readonly id: string } & (
  | { readonly what: 'missing' | 'superfluous'; readonly row: Row }
  | { readonly what: 'different'; readonly member: string; readonly expected: Member; readonly stored: Member }
);

export interface Differences {
  /** Also counts the differences that the list leaves out. */
  readonly count: number;
  /** By type and kind, for example `message different text`. */
  readonly kinds: Readonly<Record<string, number>>;
  /** The first differences of each kind. */
  readonly list: readonly Difference[];
}

/** Compares both worlds. The list has at most `most` differences of each kind. */
export function difference(expected: World, stored: World, most = 5): Differences {
  const kinds: Record<string, number> = {};
  const list: Difference[] = [];
  const found = (one: Difference): void => {
    const kind = `${one.type} ${one.what}${one.what === 'different' ? ` ${one.member}` : ''}`;
    kinds[kind] = (kinds[kind] ?? 0) + 1;
    if (kinds[kind] <= most) list.push(one);
  };
  for (const type of STORED) {
    for (const [id, { members, optional }] of expected[type]) {
      const held = stored[type].get(id)?.members;
      if (held === undefined) {
        if (!optional) found({ type, id, what: 'missing', row: members });
        continue;
      }
      for (const [member, value] of Object.entries(members)) {
        if (value === undefined || same(value, held[member])) continue;
        found({ type, id, what: 'different', member, expected: value, stored: held[member] });
      }
    }
    for (const [id, { members }] of stored[type]) {
      if (!expected[type].has(id)) found({ type, id, what: 'superfluous', row: members });
    }
  }
  return { count: Object.values(kinds).reduce((sum, n) => sum + n, 0), kinds, list };
}

const same = (one: Member, other: Member): boolean =>
  one === other || (Array.isArray(one) && JSON.stringify(one) === JSON.stringify(other));
