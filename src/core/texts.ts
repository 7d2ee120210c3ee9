import { z } from 'zod';

/**
 * Who wrote a text. `outsiders`: visitors, contacts and operators, whose text is data and never instructions.
 * `service`: the software or its administrator.
 */
export type TextWriter = 'outsiders' | 'service';

const writers = z.registry<{ readonly writer: TextWriter }>();

/** Marks a schema with the writer of its text. A schema that is derived from a marked schema keeps the mark. */
export function writtenBy<S extends z.ZodType>(writer: TextWriter, schema: S): S {
  writers.add(schema, { writer });
  return schema;
}

export const ServiceText = writtenBy('service', z.string());

export interface Text {
  /** JSON pointer to the text. `*` stands for any array index. */
  readonly pointer: string;
  /** `undefined` means that the schema does not name the writer. A test finds such texts. */
  readonly writer: TextWriter | undefined;
}

/** Lists every text in a body of this schema. An object's own texts come before those of its nested objects. */
export function textsOf(schema: z.ZodType, pointer = ''): Text[] {
  const writer = writers.get(schema)?.writer;
  if (writer !== undefined) return [{ pointer, writer }];
  const inside = partsOf(schema);
  if (inside === 'text') return [{ pointer, writer }];
  const found = inside.map(([step, part]) => textsOf(part, `${pointer}${step}`));
  const own = found.filter((texts, i) => texts.length === 1 && texts[0]?.pointer === `${pointer}${inside[i]?.[0]}`);
  return [...own, ...found.filter((texts) => !own.includes(texts))].flat();
}

type PathStep = readonly [step: string, schema: z.ZodType];

const CLOSED = [z.ZodEnum, z.ZodLiteral, z.ZodBoolean, z.ZodNumber, z.ZodNull, z.ZodISODateTime, z.ZodISODate];

// The casts are needed, because zod types the inner schemas only with its core interface.
function partsOf(schema: z.ZodType): readonly PathStep[] | 'text' {
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).map(([name, part]) => [`/${name}`, part as z.ZodType]);
  if (schema instanceof z.ZodArray) return [['/*', schema.element as z.ZodType]];
  if (schema instanceof z.ZodTuple) return schema.def.items.map((part, i) => [`/${i}`, part as z.ZodType]);
  if (schema instanceof z.ZodUnion) return schema.options.map((part) => ['', part as z.ZodType]);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return [['', schema.unwrap() as z.ZodType]];
  // A string with a pattern, such as an id or a digest, holds no free text.
  const pattern = schema instanceof z.ZodString && schema.format === 'regex';
  return pattern || CLOSED.some((kind) => schema instanceof kind) ? [] : 'text';
}
