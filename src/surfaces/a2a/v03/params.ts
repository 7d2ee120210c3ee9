import { ContentTypeNotSupportedError, PushNotificationNotSupportedError } from '@a2a-js/sdk/errors';
import { z } from 'zod';
import { isObject } from '../../../core/json.ts';
import type { Params } from '../../jsonrpc/envelope.ts';
import { invalidField } from '../content.ts';
import { checking, Length, MaybeName, Name, Strings, Struct } from '../params.ts';

const Part = z.object({
  kind: z.enum(['text', 'data', 'file']),
  text: z.unknown().optional(),
  data: z.unknown().optional(),
  metadata: Struct,
});

const Send = z.object({
  message: z.object({
    kind: z.literal('message').nullish(),
    messageId: Name,
    contextId: MaybeName,
    taskId: z.string().nullish(),
    role: z.literal('user'),
    parts: z.array(Part),
    metadata: Struct,
    extensions: Strings,
    referenceTaskIds: Strings,
  }),
  configuration: z
    .object({
      acceptedOutputModes: Strings,
      blocking: z.boolean().nullish(),
      historyLength: Length,
      pushNotificationConfig: z.unknown().optional(),
    })
    .nullish(),
  metadata: Struct,
});

const Task = { id: z.string().min(1), metadata: Struct };

const send = checking(Send, ({ message: { parts }, configuration }) => {
  for (const [i, { kind, text, data }] of parts.entries()) {
    if (kind === 'file') throw new ContentTypeNotSupportedError('Files are not accepted.');
    // The translation to 1.0 would drop one of them.
    if ((text ?? undefined) !== undefined && (data ?? undefined) !== undefined)
      throw new ContentTypeNotSupportedError('A part is either a text or data.');
    if (kind === 'text' && typeof text !== 'string') throw invalidField(`message.parts.${i}.text`, 'a text');
    if (kind === 'data' && !isObject(data)) throw invalidField(`message.parts.${i}.data`, 'an object');
  }
  const push = configuration?.pushNotificationConfig;
  if (push !== undefined && push !== null) throw new PushNotificationNotSupportedError();
});

const METHODS: ReadonlyMap<string, (params: Params) => Params> = new Map([
  ['message/send', send],
  ['message/stream', send],
  ['tasks/get', checking(z.object({ ...Task, historyLength: Length }))],
  ['tasks/cancel', checking(z.object(Task))],
  ['tasks/resubscribe', checking(z.object(Task))],
]);

/**
 * Checks the params of version 0.3, and gives them without members that are null. `blocking` is true where it is
 * absent, with or without a configuration, as the clients of 0.3 expect.
 */
export function checkedParams(method: string, params: Params): Params {
  const checked = METHODS.get(method)?.(params) ?? {};
  const { configuration, ...rest } = withoutNulls(checked);
  if (!isObject(configuration)) return rest;
  return { ...rest, configuration: { ...configuration, blocking: configuration['blocking'] ?? true } };
}

/** Leaves out null members of the protocol's objects, three levels deep. Data and metadata stay as they are. */
function withoutNulls(value: Params): Params {
  const kept = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(
    kept.map(([name, member]) => [name, OBJECTS.has(name) && isObject(member) ? withoutNulls(member) : member]),
  );
}

const OBJECTS: ReadonlySet<string> = new Set(['message', 'configuration']);
