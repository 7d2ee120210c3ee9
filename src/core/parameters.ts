import { z } from 'zod';
import { accepts } from './accepted-values.ts';
import { example } from './example.ts';
import { NEXT_CURSOR } from './failures.ts';
import { type IdKind, idKind } from './ids.ts';
import { nameOf } from './json-schema.ts';

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
  /** The name of this parameter in OpenAPI, if several operations have the same parameter. */
  readonly component: string;
}

const components = z.registry<{ readonly component: string }>();

/** Names a parameter for OpenAPI. Use it if parameters with the same name differ. Otherwise, the name itself is enough. */
export function shared<S extends z.ZodType>(component: string, schema: S): S {
  components.add(schema, { component });
  return schema;
}

export function pageParameters({ limit, max = 100, cursor }: PageRule): Shape {
  const schema = 'schema' in cursor ? cursor.schema : cursor;
  return {
    limit: shared(
      limit === 25 && max === 100 ? 'limit' : `limit_${limit}_of_${max}`,
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
      accepts(schema.optional(), NEXT_CURSOR).describe(
        'The last next_cursor. To get the next page, send the next_cursor of the previous page. Absent: the first page.',
      ),
    ),
  };
}

export function parameter(name: string, place: Parameter['in'], schema: z.ZodType): Parameter {
  const core = unwrap(schema);
  return {
    name,
    in: place,
    schema,
    required: !schema.safeParse(undefined).success,
    type: core instanceof z.ZodNumber ? 'integer' : core instanceof z.ZodBoolean ? 'boolean' : 'string',
    id: name === 'cursor' ? undefined : idKind(core),
    component: components.get(schema)?.component ?? name,
  };
}

function unwrap(schema: z.ZodType): z.ZodType {
  // The cast is needed, because zod types the inner schema only with its core interface.
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
    ? unwrap(schema.unwrap() as z.ZodType)
    : schema;
}
