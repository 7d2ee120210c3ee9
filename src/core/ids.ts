import { z } from 'zod';
import { accepts } from './accepted-values.ts';
import { example } from './example.ts';
import { named, typeName } from './json-schema.ts';

/**
 * A kind of public id, such as `ctc` for contacts. Ids have the form `<prefix>_{tenant}_{site}_{native id}`, so every
 * id names the website of its record.
 */
export interface IdKind {
  readonly noun: string;
  readonly prefix: string;
  readonly schema: z.ZodString;
  format(website: WebsiteKey, native: string | number): string;
}

/** A website: its public id, and the (tenant, site) key of all its rows. */
export interface WebsiteKey {
  readonly id: string;
  readonly tenant: string;
  readonly site: string;
}

export interface ParsedId {
  readonly website: string;
  readonly native: string;
}

// A registry, because a copy of a schema is of the same kind. The compiler cannot hold an IdKind in a registry.
const nouns = z.registry<{ readonly noun: string }>();
const kinds = new Map<string, IdKind>();
export const MAX_BIGINT = '9223372036854775807';

/** The numbers of an id, after its prefix. */
const NUMBERS = '_[0-9]{1,20}_[1-9][0-9]{0,18}_[1-9][0-9]{0,18}';

/**
 * `shown` is the number in the ids of examples. The guides use the same numbers, and the demo has records with these
 * numbers.
 */
export function defineId(noun: string, prefix: string, shown = 3, maximum = 64): IdKind {
  const pattern = new RegExp(`^${prefix}${NUMBERS}$`);
  const schema = named(
    typeName(`${noun} id`),
    example(
      `${prefix}_1_1_${shown}`,
      accepts(z.string().max(maximum).regex(pattern), `an id such as ${prefix}_1_1_42`).describe(
        `Id of ${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}, in the form ${prefix}_{tenant}_{site}_{number}.`,
      ),
    ),
  );
  const kind: IdKind = {
    noun,
    prefix,
    schema,
    format: (website, native) => `${prefix}_${website.tenant}_${website.site}_${native}`,
  };
  nouns.add(schema, { noun });
  kinds.set(noun, kind);
  return kind;
}

/** The value of a filter for records without a record of this kind. */
export const NONE = 'none';

/** A filter that takes an id, or `none`. */
export function orNone({ noun, prefix }: IdKind): z.ZodString {
  const schema = accepts(
    z
      .string()
      .max(64)
      .regex(new RegExp(`^(?:${NONE}|${prefix}${NUMBERS})$`)),
    `an id such as ${prefix}_1_1_42, or ${NONE}`,
  );
  nouns.add(schema, { noun });
  return schema;
}

export function idKind(schema: z.ZodType): IdKind | undefined {
  const { noun = '' } = nouns.get(schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema) ?? {}; // the cast is needed, because zod types the inner schema only with its core interface
  return kinds.get(noun);
}

/** Splits an id that matches its schema. Null if the native id is above 2^63-1, because no row has such an id. */
export function parseId(id: string): ParsedId | null {
  const [, tenant = '', site = '', native = ''] = id.split('_');
  return fitsBigint(native) ? { website: `web_${tenant}_${site}`, native } : null;
}

export const fitsBigint = (digits: string): boolean =>
  digits.length < MAX_BIGINT.length || (digits.length === MAX_BIGINT.length && digits <= MAX_BIGINT);

export const websiteKey = (tenant: string, site: string): WebsiteKey => ({ id: `web_${tenant}_${site}`, tenant, site });

/** The schema of an id with random digits, such as that of an app. */
export const hexId = (prefix: string, noun: string): z.ZodString =>
  z
    .string()
    .regex(new RegExp(`^${prefix}_[a-f0-9]{32}$`))
    .describe(`Id of the ${noun}.`);

export const WebsiteId = named(
  'WebsiteId',
  example(
    'web_1_1',
    accepts(z.string().regex(/^web_[0-9]{1,20}_[1-9][0-9]{0,18}$/), 'an id such as web_1_1').describe(
      'Granted website. The id has the form web_{tenant}_{site}.',
    ),
  ),
);
export const OperationId = named(
  'OperationId',
  accepts(z.string().regex(/^op_[a-f0-9]{64}$/), 'op_ and 64 hexadecimal digits').describe(
    'Id of a write. The header X-Gateway-Operation-Id of the answer to the write holds this id.',
  ),
);

export const SubscriptionId = named(
  'SubscriptionId',
  accepts(z.string().regex(/^sub_[a-f0-9]{32}$/), 'sub_ and 32 hexadecimal digits').describe('Id of a subscription.'),
);

export const RealtimeSessionId = named(
  'RealtimeSessionId',
  accepts(z.string().regex(/^rts_[a-f0-9]{32}$/), 'rts_ and 32 hexadecimal digits').describe(
    'Id of a realtime session.',
  ),
);

export const ConversationId = defineId('conversation', 'cnv', 11);
export const MessageId = defineId('message', 'msg', 64);
export const FileId = defineId('file', 'fil', 6);
export const VisitorId = defineId('visitor', 'vis', 96);
export const ContactId = defineId('contact', 'ctc', 89, 100);
export const OperatorId = defineId('operator', 'opr');
export const TeamId = defineId('team', 'tem');
export const ChannelId = defineId('channel', 'chn');
export const SubsiteId = defineId('subsite', 'sst');
export const OfferId = defineId('offer', 'ofr');
export const DispositionId = defineId('disposition', 'dsp');
export const AiFeatureId = defineId('AI feature', 'aif', 5);

const RECORDS = [ConversationId, ContactId, VisitorId];

/** Id of a conversation, a contact or a visitor. Examples show a conversation's. */
export const RecordId: IdKind = {
  ...ConversationId,
  noun: 'record',
  schema: named(
    'RecordId',
    example(
      'cnv_1_1_11',
      accepts(
        z
          .string()
          .max(100)
          .regex(new RegExp(`^(?:${RECORDS.map(({ prefix }) => prefix).join('|')})${NUMBERS}$`)),
        'an id such as cnv_1_1_42, ctc_1_1_42 or vis_1_1_42',
      ).describe('Id of a conversation (cnv_…), a contact (ctc_…) or a visitor (vis_…).'),
    ),
  ),
};
nouns.add(RecordId.schema, { noun: RecordId.noun });
kinds.set(RecordId.noun, RecordId);

/** The native id at the end of a public id. The corridor has already checked the public id. */
export const native = (id: string): string => id.slice(id.lastIndexOf('_') + 1);

/** The native id of a record of `website`. Undefined if the record is of another website, or if no row has the id. */
export function nativeIn(website: WebsiteKey, kind: IdKind | 'plain', id: string): string | undefined {
  const digits = kind === 'plain' ? id : native(id);
  // The numbers of the website as they are in its id, because an id of this record may have them with leading zeros.
  const [, tenant, site] = website.id.split('_');
  const isInside = kind === 'plain' || id === `${kind.prefix}_${tenant}_${site}_${digits}`;
  return isInside && fitsBigint(digits) ? digits : undefined;
}
