import { z } from 'zod';
import type { Requirement } from './scopes.ts';

/** JSON Schema draft 2020-12, the version of OpenAPI 3.1 and MCP. Only this file converts zod schemas. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The part of JSON Schema that the documentation shows. */
export interface Node {
  /** `name`, `needs` and `example` are no keywords. Only a conversion that asks for them has them. */
  readonly name?: string;
  /** The grants without which an answer leaves the value out. */
  readonly needs?: Requirement;
  readonly example?: unknown;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly prefixItems?: readonly Node[];
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
}

// The cast is correct, because `Node` names only the part of JSON Schema that the documents read.
export const nodeOf = (schema: JsonSchema): Node => schema as Node;

const names = z.registry<{ readonly name: string }>();

/**
 * Names a schema. The name stands beside the schema, and OpenAPI shows it as a component. A copy, such as `describe`
 * or `example` makes, refers to the component of the named schema.
 */
export function named<S extends z.ZodType>(name: string, schema: S): S {
  names.add(schema, { name });
  return schema;
}

/** The name of a schema, or of the schema that it is a copy of. */
export const nameOf = (schema: z.core.$ZodType): string | undefined => names.get(schema)?.name;

/** Makes a name such as `AiFeature` from words such as `ai_feature`. */
export const typeName = (words: string): string =>
  words
    .toLowerCase()
    .replace(/[^a-z0-9]*([a-z0-9]+)/g, (_, word: string) => word.charAt(0).toUpperCase() + word.slice(1));

/** The metadata of zod, with the names of schemas as ids. zod makes one definition of each schema with an id. */
class Definitions extends z.core.$ZodRegistry<Record<string, unknown>> {
  override get(schema: z.core.$ZodType): Record<string, unknown> | undefined {
    const metadata = z.globalRegistry.get(schema);
    return names.has(schema) ? { ...metadata, id: nameOf(schema) } : metadata;
  }
}

type Override = NonNullable<z.core.ToJSONSchemaParams['override']>;
type Io = 'input' | 'output';
/** Returns additional keywords for the JSON Schema of one zod schema. */
type Annotate = (schema: z.core.$ZodType) => JsonSchema | undefined;

const tidied =
  (annotate?: Annotate): Override =>
  ({ zodSchema, jsonSchema: node }) => {
    Object.assign(node, annotate?.(zodSchema));
    // zod gives every integer the limits of a double. Every JSON number has them, so they say nothing.
    if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
    if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
    // zod adds a long pattern for times and dates. The format already says the same.
    if (node.format === 'date-time' || node.format === 'date') delete node.pattern;
  };

/** The surfaces of a gateway convert the same schemas. */
const results = new Map<Annotate | undefined, Record<Io, WeakMap<z.ZodType, JsonSchema>>>();

/**
 * Converts a schema once for each `annotate`, which must therefore be a constant. Callers share the result, so they
 * must not change it.
 */
export function jsonSchema(schema: z.ZodType, io: Io, annotate?: Annotate): JsonSchema {
  const kept = results.get(annotate) ?? { input: new WeakMap(), output: new WeakMap() };
  results.set(annotate, kept);
  const known = kept[io].get(schema);
  if (known) return known;
  const { $schema: _, ...made } = z.toJSONSchema(schema, { io, override: tidied(annotate) });
  kept[io].set(schema, made);
  return made;
}

/** JSON Schemas that refer to named schemas. */
export interface References {
  /** Returns the JSON Schema of one of the converted schemas. */
  of(schema: z.ZodType): JsonSchema;
  /** Each named schema inside the converted schemas, once. */
  readonly named: ReadonlyMap<string, JsonSchema>;
}

/**
 * Converts zod schemas together. A named schema stands there only once, and the others refer to it with `base` and its
 * name. Throws if two different schemas have the same name.
 */
export function references(schemas: readonly z.ZodType[], io: Io, base: string): References {
  const all = [...new Set(schemas)];
  const whole = z.toJSONSchema(z.object(Object.fromEntries(all.entries())), {
    io,
    metadata: new Definitions(),
    override: tidied(),
  });
  // zod leaves out what a copy shares with its named schema. A copy of a copy repeats it, so leave it out here.
  const short = (_: string, node: unknown): unknown => {
    const { $ref, ...own } = Object(node) as JsonSchema; // the cast is correct, because any object has members to look up
    const known: JsonSchema | undefined = whole.$defs?.[String($ref).slice('#/$defs/'.length)];
    if (!known) return node;
    const differs = ([key, value]: [string, unknown]): boolean => JSON.stringify(value) !== JSON.stringify(known[key]);
    return { ...Object.fromEntries(Object.entries(own).filter(differs)), $ref };
  };
  const text = JSON.stringify(whole, short).replaceAll('"$ref":"#/$defs/', `"$ref":"${base}`);
  // The cast is correct, because zod writes the properties and the definitions of an object in this form.
  const { properties, $defs = {} } = JSON.parse(text) as Record<'properties' | '$defs', Record<string, JsonSchema>>;
  const converted = new Map(all.map((schema, index) => [schema, properties[index]]));
  return {
    of(schema) {
      const node = converted.get(schema);
      if (!node) throw new Error('the schema is not among the converted schemas');
      return node;
    },
    named: new Map(Object.entries($defs)),
  };
}
