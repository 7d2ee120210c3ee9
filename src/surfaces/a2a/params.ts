import { ContentTypeNotSupportedError } from '@a2a-js/sdk/errors';
import { z } from 'zod';
import { accepts, RFC3339_EXPECTED } from '../../core/accepted-values.ts';
import { isObject } from '../../core/json.ts';
import { inputErrors, refusalOf } from '../../gateway/input-errors.ts';
import type { Params } from '../jsonrpc/envelope.ts';
import { invalidParams } from './refusals.ts';

/** Message ids and context ids, which clients choose: 1 to 128 printable ASCII characters. */
const NAME = /^[ -~]{1,128}$/;
const CONTENT = ['text', 'raw', 'url', 'data'] as const;

const STATES = [
  'TASK_STATE_UNSPECIFIED',
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
] as const;

// In the JSON form of Protocol Buffers, a member with null or the zero value of its type counts as absent.
export const Name = accepts(z.string().regex(NAME), '1 to 128 printable ASCII characters');
export const Struct = accepts(z.custom<Readonly<Record<string, unknown>>>(isObject), 'an object').nullish();
export const MaybeName = accepts(Name.or(z.literal('')), '1 to 128 printable ASCII characters').nullish();
export const Strings = z.array(z.string()).nullish();
export const Length = z.int().min(0).max(2_147_483_647).nullish();
/** The agent card names no tenant, so only an empty one is accepted. */
const Tenant = accepts(z.literal(''), 'no tenant').nullish();

/** Also allows parts without content, because a later check refuses them with a more exact error. */
const Part = z.object({
  text: z.string().nullish(),
  raw: z.unknown().optional(),
  url: z.unknown().optional(),
  data: z.unknown().optional(),
  mediaType: z.string().nullish(),
  filename: z.string().nullish(),
  metadata: Struct,
});

const TaskId = { tenant: Tenant, id: z.string().min(1) };

const Send = z.object({
  tenant: Tenant,
  message: z.object({
    messageId: Name,
    contextId: MaybeName,
    taskId: z.string().nullish(),
    role: z.literal('ROLE_USER'),
    parts: z.array(Part),
    metadata: Struct,
    extensions: Strings,
    referenceTaskIds: Strings,
  }),
  configuration: z
    .object({
      acceptedOutputModes: Strings,
      taskPushNotificationConfig: z.unknown().optional(),
      historyLength: Length,
      returnImmediately: z.boolean().nullish(),
    })
    .nullish(),
  metadata: Struct,
});

const METHODS: ReadonlyMap<string, (params: Params) => Params> = new Map([
  ['SendMessage', checking(Send, checkContent)],
  ['SendStreamingMessage', checking(Send, checkContent)],
  ['SubscribeToTask', checking(z.object(TaskId))],
  ['GetTask', checking(z.object({ ...TaskId, historyLength: Length }))],
  ['CancelTask', checking(z.object({ ...TaskId, metadata: Struct }))],
  [
    'ListTasks',
    checking(
      z.object({
        tenant: Tenant,
        contextId: MaybeName,
        status: z.enum(STATES).nullish(),
        pageSize: z.int().min(1).max(100).nullish(),
        pageToken: z.string().nullish(),
        historyLength: Length,
        statusTimestampAfter: accepts(z.iso.datetime({ offset: true }), RFC3339_EXPECTED).nullish(),
        includeArtifacts: z.boolean().nullish(),
      }),
    ),
  ],
]);

/**
 * Checks a method's params before the SDK's codec reads them: the codec converts types and accepts two names for one
 * member. Throws if the params do not match the schema. A method that is not served gets empty params.
 */
export const checkedParams = (method: string, params: Params): Params => METHODS.get(method)?.(params) ?? {};

export function checking<S extends z.ZodObject>(schema: S, check: (given: z.output<S>) => void = () => undefined) {
  const places = placesOf(schema);
  return (params: Params): Params => {
    const parsed = schema.safeParse(params);
    if (!parsed.success) throw invalidParams(refusalOf(inputErrors(places, parsed.error, params)));
    check(parsed.data);
    return parsed.data;
  };
}

/** Describes the schema's members as a JSON body, so that errors can name a path. */
export function placesOf(schema: z.ZodObject) {
  return { input: schema, parameters: Object.keys(schema.shape).map((name) => ({ name, in: 'body' as const })) };
}

/** Refuses files before the codec decodes their bytes, and a part with two contents, of which the codec would drop one. */
function checkContent({ message: { parts } }: z.output<typeof Send>): void {
  for (const part of parts) {
    const given = CONTENT.filter((kind) => part[kind] !== undefined && part[kind] !== null);
    if (given.length > 1 || given.includes('raw') || given.includes('url'))
      throw new ContentTypeNotSupportedError('A part is either a text or data. Files are not accepted.');
  }
}
