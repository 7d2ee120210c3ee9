import type { Message, Part, SendMessageConfiguration } from '@a2a-js/sdk';
import { ContentTypeNotSupportedError, PushNotificationNotSupportedError } from '@a2a-js/sdk/errors';
import { z } from 'zod';
import { accepts } from '../../core/accepted-values.ts';
import { wrongParameter } from '../../core/failures.ts';
import { isObject } from '../../core/json.ts';
import { inputErrors, refusalOf } from '../../gateway/input-errors.ts';
import { JSON_TYPE } from '../http/body.ts';
import { parseJson } from '../http/json.ts';
import { placesOf } from './params.ts';
import { invalidParams } from './refusals.ts';

const JSON_MODE = /^(application|\*)\/\*$/;
const TEXT_TYPE = /^text\/[\w.+*-]+[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*(?:utf-8|"utf-8")[ \t]*)?$/i;
/** Older clients write `text` for text/plain. */
const TEXT_MODE = /^text(\/(plain|\*))?[ \t]*(?:;.*)?$/i;

/** What to do: the content of the data part. The gateway defines it, not A2A, so unknown members are refused. */
const Work = z.strictObject({
  skill: z.string(),
  arguments: accepts(
    z.custom<Readonly<Record<string, unknown>>>(isObject),
    'an object with the arguments of the skill',
  ),
});

/** What a message asks for. `at`: where the client wrote it, for the names of fields in errors. */
export interface MessageContent {
  readonly work: (z.output<typeof Work> & { readonly at: string }) | undefined;
  /** The text beside the work, or the whole text if the message names no skill. */
  readonly text: string | undefined;
}

/**
 * Reads a message: a data part, or else a text that is JSON with `skill` and `arguments`, or else these two members in
 * the metadata of the message. Several texts are one text, joined by line feeds. Guesses nothing from words.
 */
export function contentOf({ parts, metadata }: Message): MessageContent {
  const data: (readonly [value: unknown, at: string])[] = [];
  const texts: (readonly [value: string, at: string])[] = [];
  for (const [i, part] of parts.entries()) {
    const at = `message.parts.${i}`;
    const { content } = part;
    checkType(part);
    if (content?.$case === 'text') texts.push([content.value, `${at}.text`]);
    else if (content?.$case === 'data') data.push([content.value, `${at}.data`]);
    else if (content === undefined) throw invalidField(`${at}.data`, EXPECTED);
    else throw new ContentTypeNotSupportedError('Files are not accepted.');
  }
  if (parts.length === 0) throw invalidField('message.parts', 'a data part or a text part');
  if (data.length > 1) throw invalidField('message.parts', 'at most one data part');
  const [first] = texts;
  const whole = first && joined(texts.map(([value]) => value));
  const written = whole === undefined ? undefined : jsonOf(whole);
  const text = whole !== undefined && !written && isMeantAsData(whole) ? '' : whole;
  const [given] = data;
  if (given) return { work: workOf(...given), text: written ? undefined : text };
  if (written) return { work: workOf(written, first?.[1] ?? 'message.parts'), text: undefined };
  const named = isObject(metadata) && isWork(metadata);
  if (!named) return { work: undefined, text };
  const { skill, arguments: input } = metadata;
  return { work: workOf({ skill, arguments: input }, 'message.metadata'), text };
}

const EXPECTED = 'an object with the members skill and arguments';

const isWork = (value: Readonly<Record<string, unknown>>): boolean =>
  Object.hasOwn(value, 'skill') && Object.hasOwn(value, 'arguments');

/** The JSON object of a text, if the object has the members of a data part. */
function jsonOf(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  const value = parseJson(Buffer.from(text))?.value;
  return isObject(value) && isWork(value) ? value : undefined;
}

const joined = (texts: readonly string[]): string => texts.join('\n');

/** True if a text was meant as data. If it cannot be read as such, it is not kept, because data can name persons. */
const isMeantAsData = (text: string): boolean =>
  /^\s*\{/.test(text) && /"skill"\s*:/.test(text) && /"arguments"\s*:/.test(text);

function workOf(value: unknown, at: string): NonNullable<MessageContent['work']> {
  if (!isObject(value)) throw invalidField(at, EXPECTED);
  const work = Work.safeParse(value);
  if (!work.success) throw invalidParams(refusalOf(inputErrors(placesOf(Work), work.error, value)), `${at}.`);
  return { ...work.data, at };
}

function checkType({ content, mediaType }: Part): void {
  if (mediaType === '' || JSON_TYPE.test(mediaType)) return;
  if (content?.$case === 'text' && TEXT_TYPE.test(mediaType)) return;
  throw new ContentTypeNotSupportedError('Data must be of application/json, and texts of text/plain.');
}

/**
 * How the client wants the artifact: as data, or as a text with the same JSON. Throws if it wants neither, or asks for
 * push notifications.
 */
export function formOf(configuration: SendMessageConfiguration | undefined): 'data' | 'text' {
  if (configuration?.taskPushNotificationConfig !== undefined) throw new PushNotificationNotSupportedError();
  const modes = configuration?.acceptedOutputModes ?? [];
  if (modes.length === 0 || modes.some((mode) => JSON_TYPE.test(mode) || JSON_MODE.test(mode))) return 'data';
  if (modes.some((mode) => TEXT_MODE.test(mode))) return 'text';
  throw new ContentTypeNotSupportedError('Artifacts are of application/json or text/plain.');
}

export const invalidField = (field: string, expected: string): Error =>
  invalidParams(wrongParameter('invalid_parameter', field, expected));

const Named = z.object({ skill: z.string(), arguments: z.custom<Readonly<Record<string, unknown>>>(isObject) });
const Sent = z.object({
  message: z.object({
    parts: z.array(z.object({ data: z.unknown().optional(), text: z.unknown().optional() })),
    metadata: z.unknown().optional(),
  }),
});

/** What a refused message of any version asks for, for its audit record. */
export function namedIn(params: unknown): {
  skill?: string;
  input?: Readonly<Record<string, unknown>>;
  charged?: number;
} {
  const { data: sent } = Sent.safeParse(params);
  if (!sent) return {};
  const { parts, metadata } = sent.message;
  const written = jsonOf(joined(parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []))));
  for (const given of [...parts.map(({ data }) => data), written, metadata]) {
    const { data: named } = Named.safeParse(given);
    if (named) return { skill: named.skill, input: named.arguments };
  }
  return {};
}
