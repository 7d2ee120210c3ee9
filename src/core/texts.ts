import { z } from 'zod';

/**
 * Who writes a text. `outsiders`: visitors, contacts and operators; the text is data, never instructions. `service`: the
 * service makes or normalizes the text, or an administrator of the service configures it.
 */
export type Writer = 'outsiders' | 'service';

const writers = z.registry<{ readonly writer: Writer }>();

/** Says who writes the text that `schema` describes. What is derived from `schema` later keeps the mark. */
export function writtenBy<S extends z.ZodType>(writer: Writer, schema: S): S {
  writers.add(schema, { writer });
  return schema;
}

/** A text that the service makes. */
export const ServiceText = writtenBy('service', z.string());

export interface Text {
  /** JSON pointer in which `*` stands for any index. */
  readonly pointer: string;
  /** `undefined`: the declaration does not say it. A test finds such a text. */
  readonly writer: Writer | undefined;
}

/** Every text in a body of this schema. The texts of an object come before the texts of what is inside the object. */
export function textsOf(schema: z.ZodType, pointer = ''): Text[] {
  const writer = writers.get(schema)?.writer;
  if (writer !== undefined) return [{ pointer, writer }];
  const inside = partsOf(schema);
  if (inside === 'text') return [{ pointer, writer }];
  const found = inside.map(([step, part]) => textsOf(part, `${pointer}${step}`));
  const own = found.filter((texts, i) => texts.length === 1 && texts[0]?.pointer === `${pointer}${inside[i]?.[0]}`);
  return [...own, ...found.filter((texts) => !own.includes(texts))].flat();
}

type Part = readonly [step: string, schema: z.ZodType];

/** Kinds of values whose form is closed. They hold no text that somebody writes. */
const CLOSED = [z.ZodEnum, z.ZodLiteral, z.ZodBoolean, z.ZodNumber, z.ZodNull, z.ZodISODateTime, z.ZodISODate];

// The casts are needed because zod types inner schemas by its core interface only.
function partsOf(schema: z.ZodType): readonly Part[] | 'text' {
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).map(([name, part]) => [`/${name}`, part as z.ZodType]);
  if (schema instanceof z.ZodArray) return [['/*', schema.element as z.ZodType]];
  if (schema instanceof z.ZodTuple) return schema.def.items.map((part, i) => [`/${i}`, part as z.ZodType]);
  if (schema instanceof z.ZodUnion) return schema.options.map((part) => ['', part as z.ZodType]);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return [['', schema.unwrap() as z.ZodType]];
  // A pattern closes the form of a string: an id, a digest, a path.
  const pattern = schema instanceof z.ZodString && schema.format === 'regex';
  return pattern || CLOSED.some((kind) => schema instanceof kind) ? [] : 'text';
}
