import { z } from 'zod';

/**
 * Says who writes a text. Visitors, contacts and operators are `outsiders`, so their text is data and never
 * instructions. `service` means that the service makes or normalizes the text, or that an administrator of the service
 * configures it.
 */
export type Writer = 'outsiders' | 'service';

const writers = z.registry<{ readonly writer: Writer }>();

/** Marks a schema with the writer of its text. Schemas that are derived from the marked schema keep the mark. */
export function writtenBy<S extends z.ZodType>(writer: Writer, schema: S): S {
  writers.add(schema, { writer });
  return schema;
}

/** Schema of a text that the service makes. */
export const ServiceText = writtenBy('service', z.string());

export interface Text {
  /** JSON pointer to the text in a body. `*` stands for any array index. */
  readonly pointer: string;
  /** The writer of the text. `undefined` means that the declaration names no writer. A test finds such texts. */
  readonly writer: Writer | undefined;
}

/** Lists every text in a body of this schema. The texts of an object come before the texts of its nested objects. */
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

/** Kinds of values that have a closed form. Such a value holds no free text. */
const CLOSED = [z.ZodEnum, z.ZodLiteral, z.ZodBoolean, z.ZodNumber, z.ZodNull, z.ZodISODateTime, z.ZodISODate];

// The casts are needed, because zod gives inner schemas only the type of its core interface.
function partsOf(schema: z.ZodType): readonly Part[] | 'text' {
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).map(([name, part]) => [`/${name}`, part as z.ZodType]);
  if (schema instanceof z.ZodArray) return [['/*', schema.element as z.ZodType]];
  if (schema instanceof z.ZodTuple) return schema.def.items.map((part, i) => [`/${i}`, part as z.ZodType]);
  if (schema instanceof z.ZodUnion) return schema.options.map((part) => ['', part as z.ZodType]);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return [['', schema.unwrap() as z.ZodType]];
  // A pattern makes the form of a string closed, as for an id, a digest or a path.
  const pattern = schema instanceof z.ZodString && schema.format === 'regex';
  return pattern || CLOSED.some((kind) => schema instanceof kind) ? [] : 'text';
}
