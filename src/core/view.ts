import { z } from 'zod';
import { example } from './example.ts';
import type { IdKind, WebsiteKey } from './ids.ts';
import { named } from './json-schema.ts';
import { CLASSES } from './scope-texts.ts';
import { type Grants, holds, type Requirement, type Restriction } from './scopes.ts';
import { type Fragment, raw } from './sql.ts';
import { type TextWriter, writtenBy } from './texts.ts';

/**
 * A member of a view: its schema, the SQL that reads it, and the grants to see it. A view is the public form of one
 * kind of record. The store selects only columns that the caller may see.
 */
export interface Field {
  readonly schema: z.ZodType;
  /** A reader without these grants gets no member. Without `needs`, every reader of the view sees the field. */
  readonly needs?: Requirement;
  readonly select: readonly Expression[];
  build(values: readonly unknown[], row: RowContext): unknown;
}

/** The caller of a read. The SQL expressions of a view use `ViewCaller` to leave out data that this caller may not see. */
export interface ViewCaller {
  readonly grants: Grants;
  /** SQL condition: the caller's restrictions permit the conversation. `alias` is that of platform.conversation. */
  allowed(alias: string): Fragment;
  /** The native ids that a restriction permits on this website. Undefined: all. */
  permitted(dimension: Restriction): readonly string[] | undefined;
  /** SQL condition: the restriction permits the id in `column`. */
  permits(dimension: Restriction, column: string): Fragment;
  /** True if the row has a column `long`, and its texts are only read if that is false. */
  readonly unlessLong: boolean;
}

export type Expression = Fragment | ((caller: ViewCaller) => Fragment);

export interface RowContext {
  readonly website: WebsiteKey;
  readonly grants: Grants;
}

/** A record as one caller may see it. `~view` exists only in types, so that records of two views are incompatible. */
export interface Projection<Name extends string = string> {
  readonly [member: string]: unknown;
  readonly '~view'?: Name;
}

export interface ViewDeclaration<Name extends string, Parent extends string = string> {
  readonly name: Name;
  readonly table: `platform.${string}`;
  readonly alias: string;
  /** The form of public ids and list cursors. `plain` means a bare number. */
  readonly id: IdKind | 'plain';
  readonly order?: 'asc' | 'desc';
  /** SQL condition for the rows that the API shows. Without it, all rows. */
  readonly visible?: Fragment;
  /**
   * SQL condition for the rows that a restricted credential may see. The condition tests the conversation, channel or
   * team of a row.
   */
  readonly reachable?: (caller: ViewCaller) => Fragment;
  /**
   * For each parent view, by name: the SQL condition for the rows of one parent record. `id` is the native id of the
   * parent record.
   */
  readonly within?: Readonly<Record<Parent, (id: string, website: WebsiteKey) => Fragment>>;
  /**
   * The column of a long text. A page has fewer rows if these texts are long. Read the column only with `weighedText`.
   */
  readonly weight?: string;
  readonly fields: Readonly<Record<string, Field>>;
}

/** A view of stored records. `Parent` lists the views whose records can be parents. */
export interface View<Name extends string = string, Parent extends string = string>
  extends ViewDeclaration<Name, Parent> {
  readonly schema: z.ZodType<Projection<Name>, Projection<Name>>;
}

const grants = new WeakMap<object, Requirement>();

/** The grants that show a member, by the member's schema. Undefined: no grant is needed. */
export const needsOf = (schema: object): Requirement | undefined => grants.get(schema);

export function defineView<Name extends string, Parent extends string = never>(
  declaration: ViewDeclaration<Name, Parent>,
): View<Name, Parent> {
  const members = Object.entries(declaration.fields);
  const shape = Object.fromEntries(
    members.map(([name, { schema, needs }]) => [name, needs ? withheld(schema, needs) : schema]),
  );
  // The cast is sound, because a strict object with exactly the declared members is a Projection of this view.
  const schema = named(declaration.name, z.strictObject(shape)) as unknown as View<Name>['schema'];
  return { ...declaration, schema };
}

function withheld(schema: z.ZodType, needs: Requirement): z.ZodType {
  const { description } = schema;
  const optional = schema.optional();
  const told =
    description === undefined ? optional : optional.describe(`${description} Absent if this data is not granted.`);
  grants.set(told, needs);
  return told;
}

/** The fields of `view` that a caller with `grants` may see, by name. */
export const seen = (view: ViewDeclaration<string>, grants: Grants): [string, Field][] =>
  Object.entries(view.fields).filter(([, field]) => !field.needs || holds(grants, field.needs));

interface Options {
  readonly needs?: Requirement;
  /** The value that documents show. */
  readonly example?: unknown;
}

function field(
  schema: z.ZodType,
  select: readonly (string | Expression)[],
  build: Field['build'],
  { needs, ...shown }: Options = {},
): Field {
  return {
    schema: 'example' in shown ? example(shown.example, schema) : schema,
    select: select.map((s) => (typeof s === 'string' ? raw(s) : s)),
    build,
    ...(needs ? { needs } : {}),
  };
}

export const derived = field;

export const column = (expression: string | Expression, schema: z.ZodType, options?: Options): Field =>
  field(schema, [expression], ([value]) => value, options);

/** A field for count(*) or another int8 value, which the driver returns as a string. */
export const count = (expression: string | Expression, description: string, options?: Options): Field =>
  field(z.int().min(0).describe(description), [expression], ([value]) => Number(value), options);

interface TextOptions extends Options {
  readonly writer: TextWriter;
}

/** A text of at most `max` UTF-16 code units. A longer text is cut, but never inside a surrogate pair. */
export const text = (expression: string | Expression, max: number, description: string, options: TextOptions): Field =>
  field(
    writtenBy(options.writer, z.string().max(max)).describe(description),
    [expression],
    ([value]) => clip(value, max),
    options,
  );

export const nullableText: typeof text = (expression, max, description, options) =>
  field(
    writtenBy(options.writer, z.string().max(max)).nullable().describe(description),
    [expression],
    ([value]) => (value === null ? null : clip(value, max)),
    options,
  );

/** Reads one character more than `max`, which shows that the text must be cut. */
export const longText = (expression: string, max: number): string => `left(${expression}, ${max + 1})`;

/**
 * Like `longText`, for the column in `weight`. `left` counts characters, which takes 0.19 ms for a text of 36 KB. So it
 * only cuts a text of more than two bytes for each character that is shown. `clip` cuts the others.
 */
export const weighedText =
  (column: string, max: number, when = 'true'): Expression =>
  ({ unlessLong }) => {
    const wanted = unlessLong ? `${when} AND NOT ${column.split('.')[0]}.long` : when;
    const cut = `WHEN octet_length(${column}) > ${2 * max} THEN ${longText(column, max)}`;
    return raw(`CASE WHEN NOT (${wanted}) THEN NULL ${cut} ELSE ${column} END`);
  };

export const truncated = (expression: string | Expression, max: number, options?: Options): Field =>
  field(
    example(false, z.boolean().describe(`True if the text was cut to ${max} UTF-16 code units.`)),
    [expression],
    ([value]) => typeof value === 'string' && value.length > max,
    options,
  );

export const Time = z.iso.datetime({ precision: 3 });

export const time = (expression: string, description: string, options?: Options): Field =>
  field(Time.describe(description), [`${expression}::text`], ([value]) => rfc3339(String(value)), options);

export const nullableTime: typeof time = (expression, description, options) =>
  field(
    Time.nullable().describe(description),
    [`${expression}::text`],
    ([value]) => (value === null ? null : rfc3339(String(value))),
    options,
  );

export const reference = (
  expression: string | Expression,
  kind: IdKind,
  description: string,
  options?: Options,
): Field =>
  field(
    kind.schema.nullable().describe(description),
    [expression],
    ([value], { website }) => (value === null ? null : kind.format(website, String(value))),
    options,
  );

export const owner = (expression: string, kind: IdKind): Field =>
  field(kind.schema, [expression], ([value], { website }) => kind.format(website, String(value)));

export const ownId = (alias: string, kind: IdKind): Field => owner(`${alias}.id`, kind);

export const websiteId = (schema: z.ZodType): Field => field(schema, [], (_, { website }) => website.id);

/** A field with the classes of data that the caller may see. It explains why members are missing. */
export function access(classes: Readonly<Record<string, Requirement>>): Field {
  const shape = Object.fromEntries(
    Object.entries(CLASSES)
      .filter(([name]) => name in classes)
      .map(([name, data]) => [name, z.boolean().describe(`True if the credential may see ${data} in this record.`)]),
  );
  return field(
    z
      .strictObject(shape)
      .describe('Classes of data that the credential may see here. They explain why members are absent.'),
    [],
    (_, { grants }) =>
      Object.fromEntries(Object.entries(classes).map(([name, requirement]) => [name, holds(grants, requirement)])),
  );
}

export function clip(value: unknown, max: number): string {
  const string = String(value);
  if (string.length <= max) return string;
  const last = string.charCodeAt(max - 1);
  return string.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}

/**
 * Converts a UTC timestamp from PostgreSQL's text (`2026-11-21 11:48:25.87+00`) to RFC 3339 with milliseconds. Date is
 * not used: it would take a tenth of the time of a page of conversations (measured).
 */
export function rfc3339(text: string): string {
  if (text[10] !== ' ' || !text.endsWith('+00')) throw new TypeError('a time column is not in UTC, ISO style');
  const fraction = text[19] === '.' ? text.slice(20, -3).padEnd(3, '0').slice(0, 3) : '000';
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}
