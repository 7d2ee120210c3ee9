import { z } from 'zod';
import { accepts } from './accepted-values.ts';
import { example } from './example.ts';
import { NEXT_CURSOR } from './failures.ts';
import { type IdKind, idKind } from './ids.ts';
import { nameOf } from './json-schema.ts';
import { PAGE_RECORDS } from './limits.ts';

export type Shape = Readonly<Record<string, z.ZodType>>;

export interface PageRule {
  readonly cursor: IdKind | z.ZodString;
  /** The default `limit`. */
  readonly limit: number;
  /** The largest `limit`. The default is 100. */
  readonly max?: number;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'body';
  readonly schema: z.ZodType;
  readonly required: boolean;
  readonly type: 'string' | 'integer' | 'boolean';
  readonly id: IdKind | undefined;
  /** True if `null` means that the parameter is not given. */
  readonly nullIsAbsent: boolean;
  /** True if the parameter is a filter: agents send an empty text for a filter that they do not use. */
  readonly emptyIsAbsent: boolean;
  /** The name of this parameter in OpenAPI, if several operations have the same parameter. */
  readonly component: string;
}

const components = z.registry<{ readonly component: string }>();

/** Names a parameter for OpenAPI. Use it if parameters with the same name differ. Otherwise, the name itself is enough. */
export function shared<S extends z.ZodType>(component: string, schema: S): S {
  components.add(schema, { component });
  return schema;
}

export function pageParameters({ limit, max = PAGE_RECORDS, cursor }: PageRule): Shape {
  const schema = 'schema' in cursor ? cursor.schema : cursor;
  return {
    limit: shared(
      limit === 25 && max === PAGE_RECORDS ? 'limit' : `limit_${limit}_of_${max}`,
      example(
        10,
        z
          .int()
          .min(1)
          .max(max)
          .default(limit)
          .describe(
            `Records per page. The range is 1 to ${max}, and the default is ${limit}. A page can hold fewer records.`,
          ),
      ),
    ),
    cursor: shared(
      ['cursor', nameOf(schema)].filter(Boolean).join('_'),
      accepts(schema.optional(), NEXT_CURSOR).describe('The last next_cursor. Absent: the first page.'),
    ),
  };
}

export function parameter(name: string, place: Parameter['in'], schema: z.ZodType): Parameter {
  const core = unwrap(schema);
  const required = !schema.safeParse(undefined).success;
  const type = core instanceof z.ZodNumber ? 'integer' : core instanceof z.ZodBoolean ? 'boolean' : 'string';
  const nullIsAbsent = !required && !schema.safeParse(null).success;
  const optional = nullIsAbsent && schema instanceof z.ZodOptional;
  return {
    name,
    in: place,
    schema,
    required,
    type,
    nullIsAbsent,
    emptyIsAbsent: optional && place === 'query' && type === 'string' && name !== 'cursor',
    id: name === 'cursor' ? undefined : idKind(core),
    component: components.get(schema)?.component ?? name,
  };
}

export const parametersOf = (shape: Shape, place: Parameter['in']): Parameter[] =>
  Object.entries<z.ZodType>(shape).map(([name, schema]) => parameter(name, place, schema));

type Values = Readonly<Record<string, unknown>>;

/**
 * The values without those that mean that a parameter is not given: null for an optional parameter, and with `empty` an
 * empty text for a filter.
 */
export function givenOf(parameters: readonly Parameter[], values: Values, empty: boolean): Values {
  const absent = parameters.filter(
    ({ name, nullIsAbsent, emptyIsAbsent }) =>
      Object.hasOwn(values, name) &&
      ((nullIsAbsent && values[name] === null) || (empty && emptyIsAbsent && values[name] === '')),
  );
  if (absent.length === 0) return values;
  const names = new Set(absent.map(({ name }) => name));
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.has(name)));
}

function unwrap(schema: z.ZodType): z.ZodType {
  // The cast is needed, because zod types the inner schema only with its core interface.
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
    ? unwrap(schema.unwrap() as z.ZodType)
    : schema;
}
