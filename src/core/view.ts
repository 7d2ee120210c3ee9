import { z } from 'zod';
import type { IdKind, WebsiteKey } from './ids.ts';
import { type Grants, holds, type Requirement, type Restriction } from './scopes.ts';
import { type Fragment, raw } from './sql.ts';

/**
 * A view is the public shape of one kind of record: for every member its schema, the SQL that yields it and the
 * authority that may see it. The store builds its column list from a view and a caller's grants, so a column that may
 * not be seen is never selected.
 */
export interface Field {
  readonly schema: z.ZodType;
  /** Absent: every reader of the view. */
  readonly needs?: Requirement;
  /** What a reader without `needs` finds. */
  readonly denied: 'omit' | 'null';
  readonly select: readonly Expression[];
  build(values: readonly unknown[], row: RowContext): unknown;
}

/** What an expression may ask about the caller, so that it leaves out what this caller may not see. */
export interface Caller {
  readonly grants: Grants;
  /** The caller's restrictions as a condition on platform.conversation under an alias. */
  allowed(alias: string): Fragment;
  /** Native ids that a restriction permits on this website; `undefined`: unrestricted. */
  permitted(dimension: Restriction): readonly string[] | undefined;
  /** Whether a restriction permits the id in a column. */
  permits(dimension: Restriction, column: string): Fragment;
  /** Bytes of the longest text that is wanted, as it is stored; `undefined`: all of them are. */
  readonly longest?: number | undefined;
}

/** SQL of one value. */
export type Expression = Fragment | ((caller: Caller) => Fragment);

export interface RowContext {
  readonly website: WebsiteKey;
  readonly grants: Grants;
}

/** A record as one caller may see it. The member exists in types only: it keeps one view's rows out of another's place. */
export interface Projection<Name extends string = string> {
  readonly [member: string]: unknown;
  readonly '~view'?: Name;
}

export interface ViewDeclaration<Name extends string> {
  readonly name: Name;
  readonly table: `platform.${string}`;
  readonly alias: string;
  /** How ids and cursors are written in public; a bare number for kinds whose ids are plain. */
  readonly id: IdKind | 'plain';
  readonly order?: 'asc' | 'desc';
  /** Rows that exist for the API at all. */
  readonly visible?: Fragment;
  /** Rows that a restricted credential may see: those that belong to a conversation, channel or team it is given. */
  readonly reachable?: (caller: Caller) => Fragment;
  /** Rows that belong to a record of another view, by that view's name; `id` is its native id. */
  readonly within?: Readonly<Record<string, (id: string, website: WebsiteKey) => Fragment>>;
  /** The column of a long text: pages end by the bytes of these, too, and it is selected by `weighedText` alone. */
  readonly weight?: string;
  readonly fields: Readonly<Record<string, Field>>;
}

export interface View<Name extends string = string> extends ViewDeclaration<Name> {
  readonly schema: z.ZodType<Projection<Name>, Projection<Name>>;
}

export function defineView<Name extends string>(declaration: ViewDeclaration<Name>): View<Name> {
  const shape: Record<string, z.ZodType> = {};
  for (const [name, field] of Object.entries(declaration.fields)) {
    if (!field.needs) shape[name] = field.schema;
    else if (field.denied === 'omit') shape[name] = described(field.schema.optional(), field.schema);
    else shape[name] = described(field.schema.nullable(), field.schema);
  }
  // A strict object of exactly the declared members is what Projection means for this view.
  const schema = z.strictObject(shape) as unknown as View<Name>['schema'];
  return { ...declaration, schema };
}

const described = (schema: z.ZodType, from: z.ZodType): z.ZodType =>
  from.description === undefined ? schema : schema.describe(from.description);

/** The members of `view` that `grants` may see. */
export const seen = (view: ViewDeclaration<string>, grants: Grants): [string, Field][] =>
  Object.entries(view.fields).filter(([, field]) => !field.needs || holds(grants, field.needs));

interface Options {
  readonly needs?: Requirement;
  readonly denied?: 'omit' | 'null';
}

function field(
  schema: z.ZodType,
  select: readonly (string | Expression)[],
  build: Field['build'],
  { needs, denied = 'omit' }: Options = {},
): Field {
  return {
    schema,
    select: select.map((s) => (typeof s === 'string' ? raw(s) : s)),
    build,
    denied,
    ...(needs ? { needs } : {}),
  };
}

/** Several expressions made into one member. */
export const derived = field;

/** A value that PostgreSQL already delivers in its public form. */
export const column = (expression: string | Expression, schema: z.ZodType, options?: Options): Field =>
  field(schema, [expression], ([value]) => value, options);

/** count(*) and other int8 expressions, which the driver delivers as strings. */
export const count = (expression: string | Expression, description: string, options?: Options): Field =>
  field(z.int().min(0).describe(description), [expression], ([value]) => Number(value), options);

/** Text of at most `max` UTF-16 units; longer text is cut at a character. */
export const text = (expression: string | Expression, max: number, description: string, options?: Options): Field =>
  field(z.string().max(max).describe(description), [expression], ([value]) => clip(value, max), options);

export const nullableText = (
  expression: string | Expression,
  max: number,
  description: string,
  options?: Options,
): Field =>
  field(
    z.string().max(max).nullable().describe(description),
    [expression],
    ([value]) => (value === null ? null : clip(value, max)),
    options,
  );

/** Long text travels from the store cut to `max` + 1 characters, which is enough to know whether it was cut. */
export const longText = (expression: string, max: number): string => `left(${expression}, ${max + 1})`;

/** The same of a column of a view that weighs its rows (`weight`), null where the text is longer than is wanted. */
export const weighedText =
  (column: string, max: number, when = 'true'): Expression =>
  ({ longest }) => {
    const wanted = longest === undefined ? when : `${when} AND octet_length(${column}) <= ${longest}`;
    return raw(`CASE WHEN ${wanted} THEN ${longText(column, max)} END`);
  };

export const truncated = (expression: string | Expression, max: number, options?: Options): Field =>
  field(
    z.boolean().describe(`Whether the text was cut to ${max} UTF-16 code units.`),
    [expression],
    ([value]) => typeof value === 'string' && value.length > max,
    options,
  );

export const Time = z.iso.datetime({ precision: 3 });

export const time = (expression: string, description: string, options?: Options): Field =>
  field(
    Time.describe(`${description} RFC 3339, UTC, milliseconds.`),
    [`${expression}::text`],
    ([value]) => rfc3339(String(value)),
    options,
  );

export const nullableTime = (expression: string, description: string, options?: Options): Field =>
  field(
    Time.nullable().describe(`${description} RFC 3339, UTC, milliseconds.`),
    [`${expression}::text`],
    ([value]) => (value === null ? null : rfc3339(String(value))),
    options,
  );

/** The id of another record of the same website. */
export const reference = (expression: string | Expression, kind: IdKind, options?: Options): Field =>
  field(
    kind.schema.nullable().describe(kind.schema.description ?? kind.noun),
    [expression],
    ([value], { website }) => (value === null ? null : kind.format(website, String(value))),
    options,
  );

/** The id of the record that this one belongs to. */
export const owner = (expression: string, kind: IdKind): Field =>
  field(kind.schema, [expression], ([value], { website }) => kind.format(website, String(value)));

/** The record's own id. */
export const ownId = (alias: string, kind: IdKind): Field =>
  field(kind.schema, [`${alias}.id`], ([value], { website }) => kind.format(website, String(value)));

export const websiteId = (schema: z.ZodType): Field => field(schema, [], (_, { website }) => website.id);

/** Which classes of data the caller sees in this record: the reason why members are missing. */
export function access(classes: Readonly<Record<string, Requirement>>): Field {
  const shape = Object.fromEntries(
    Object.keys(classes).map((name) => [name, z.boolean().describe(`Whether ${name.replaceAll('_', ' ')} is shown.`)]),
  );
  return field(
    z.strictObject(shape).describe('Which classes of data this credential sees here.'),
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
 * PostgreSQL's text of a timestamptz in UTC (`2026-11-21 11:48:25.87+00`) as RFC 3339 with milliseconds. Through a Date it
 * took a tenth of a page of conversations.
 */
export function rfc3339(text: string): string {
  if (text[10] !== ' ' || !text.endsWith('+00')) throw new TypeError('a time column is not in UTC, ISO style');
  const fraction = text[19] === '.' ? text.slice(20, -3).padEnd(3, '0').slice(0, 3) : '000';
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}
