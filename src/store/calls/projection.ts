import type { Authority, Rights } from '../../core/authority.ts';
import { parseId, type WebsiteKey } from '../../core/ids.ts';
import { RESTRICTIONS, type Restriction } from '../../core/scopes.ts';
import { type Fragment, join, raw, sql } from '../../core/sql.ts';
import { type Expression, type Projection, seen, type View, type ViewCaller } from '../../core/view.ts';

export interface Reader<Of extends Rights = Authority> {
  readonly authority: Of;
  readonly website: WebsiteKey;
}

/** The values of a row, in the order of its columns. The columns of a view are the last ones. */
export type Row = readonly unknown[];

/** The native ids of this website that a restriction permits. `undefined`: every id is permitted. */
export function permitted(authority: Rights, website: WebsiteKey, dimension: Restriction): string[] | undefined {
  const ids = authority.restrictions[dimension]?.map(parseId);
  return ids?.flatMap((id) => (id?.website === website.id ? [id.native] : []));
}

export function callerOf({ authority, website }: Reader<Rights>, unlessLong = false): ViewCaller {
  const permits = (dimension: Restriction, column: string): Fragment => {
    const ids = permitted(authority, website, dimension);
    return ids ? sql`${raw(column)} = ANY(${ids}::bigint[])` : YES;
  };
  return {
    grants: authority,
    permitted: (dimension) => permitted(authority, website, dimension),
    permits,
    unlessLong,
    // All restricted dimensions must permit the row. A row without a team, for example, is closed to a caller with a
    // list of teams.
    allowed: (alias) => {
      const conditions = RESTRICTIONS.flatMap((dimension) =>
        authority.restrictions[dimension] ? [permits(dimension, `${alias}.${COLUMN[dimension]}`)] : [],
      );
      return conditions.length === 0 ? YES : join(conditions, ' AND ');
    },
  };
}

const YES = sql`true`;
export const COLUMN = { channel_ids: 'channel_id', team_ids: 'team_id', subsite_ids: 'subsite_id' } as const;

export interface Columns<Name extends string> {
  readonly select: Fragment;
  build(row: Row): Projection<Name>;
}

/**
 * How many columns are cached for a view and an authority: one for a website, or two if the view has long texts. An
 * authority can have thousands of websites.
 */
const COLUMNS = 50;
// Calls share the authority object while it is cached. The columns of a view depend on this object and on the key.
const known = new WeakMap<View, WeakMap<Rights, Map<string, Columns<string>>>>();

function kept<Key, Value>(
  all: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const before = all.get(key);
  if (before !== undefined) return before;
  const made = make();
  all.set(key, made);
  return made;
}

/**
 * Returns the columns of a view that a reader may see. With `unlessLong`, the column `long` decides whether texts are
 * read.
 */
export function projectionOf<Name extends string>(
  { authority, website }: Reader<Rights>,
  view: View<Name>,
  unlessLong = false,
): Columns<Name> {
  const ofView = kept(known, view, () => new WeakMap<Rights, Map<string, Columns<string>>>());
  const ofReader = kept(ofView, authority, () => new Map<string, Columns<string>>());
  const key = unlessLong ? `${website.id} unless long` : website.id;
  if (ofReader.size >= COLUMNS && !ofReader.has(key)) ofReader.clear();
  const columns = kept(ofReader, key, () => columnsOf({ authority, website }, view, unlessLong));
  return columns as Columns<Name>; // the cache stores these columns under the same view
}

function columnsOf<Name extends string>(reader: Reader<Rights>, view: View<Name>, unlessLong: boolean): Columns<Name> {
  const places = new Map<string, number>();
  const selected: Fragment[] = [];
  const caller = callerOf(reader, unlessLong);
  const placeOf = (expression: Expression): number => {
    const fragment = typeof expression === 'function' ? expression(caller) : expression;
    const key = JSON.stringify([fragment.texts, fragment.values]);
    const before = places.get(key);
    if (before !== undefined) return before;
    const place = places.size;
    places.set(key, place);
    selected.push(sql`${fragment} AS ${raw(`c${place}`)}`);
    return place;
  };
  // `from`: the places of the columns of a member among those of the view.
  const members = seen(view, reader.authority).map(([name, field]) => {
    return { name, field, from: field.select.map(placeOf) };
  });
  const context = { website: reader.website, grants: reader.authority };
  // What is the same in every record, with a place for each other member.
  const same = Object.fromEntries(
    members.map(({ name, field, from }) => [name, from.length === 0 ? field.build([], context) : null]),
  );
  const built = members.filter(({ from }) => from.length > 0);
  if (selected.length === 0) selected.push(sql`1 AS c0`);
  return {
    select: join(selected, ', '),
    build: (row) => {
      const first = row.length - selected.length;
      const record: Record<string, unknown> & { '~view'?: Name } = { ...same };
      for (const { name, field, from } of built)
        record[name] = field.build(
          from.map((place) => row[first + place]),
          context,
        );
      return record;
    },
  };
}
