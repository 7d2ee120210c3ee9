import { z } from 'zod';
import { accepts } from './expected.ts';

/**
 * A kind of public id, such as `ctc` for contacts. A public id has the form `<prefix>_{tenant}_{site}_{native id}`, so
 * every id names the website of its record.
 */
export interface IdKind {
  readonly noun: string;
  readonly prefix: string;
  readonly schema: z.ZodString;
  format(website: WebsiteKey, native: string | number): string;
}

/** A website: its public id, and the numbers (tenant, site) that are in every database row of the website. */
export interface WebsiteKey {
  readonly id: string;
  readonly tenant: string;
  readonly site: string;
}

export interface ParsedId {
  readonly website: string;
  readonly native: string;
}

const kinds = new WeakMap<z.ZodType, IdKind>();
const MAX_BIGINT = '9223372036854775807';

export function defineId(noun: string, prefix: string, maximum = 64): IdKind {
  const pattern = new RegExp(`^${prefix}_[0-9]{1,20}_[1-9][0-9]{0,18}_[1-9][0-9]{0,18}$`);
  const schema = accepts(z.string().max(maximum).regex(pattern), `an id such as ${prefix}_1_1_42`).describe(
    `Id of ${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}, in the form ${prefix}_{tenant}_{site}_{number}.`,
  );
  const kind: IdKind = {
    noun,
    prefix,
    schema,
    format: (website, native) => `${prefix}_${website.tenant}_${website.site}_${native}`,
  };
  kinds.set(schema, kind);
  return kind;
}

/** Returns the kind of id that a schema accepts. Returns undefined if the schema is not for ids. */
export function idKind(schema: z.ZodType): IdKind | undefined {
  return kinds.get(schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema); // the cast is needed, because zod types the inner schema only with its core interface
}

/**
 * Splits an id that matches its schema. Returns null if the native id is above 2^63-1, because no row can have such an
 * id.
 */
export function parseId(id: string): ParsedId | null {
  const [, tenant = '', site = '', native = ''] = id.split('_');
  return fitsBigint(native) ? { website: `web_${tenant}_${site}`, native } : null;
}

export const fitsBigint = (digits: string): boolean =>
  digits.length < MAX_BIGINT.length || (digits.length === MAX_BIGINT.length && digits <= MAX_BIGINT);

export const websiteKey = (tenant: string, site: string): WebsiteKey => ({ id: `web_${tenant}_${site}`, tenant, site });

export const WebsiteId = accepts(
  z.string().regex(/^web_[0-9]{1,20}_[1-9][0-9]{0,18}$/),
  'an id such as web_1_1',
).describe('Granted website. The id has the form web_{tenant}_{site}.');
export const OperationId = accepts(z.string().regex(/^op_[a-f0-9]{64}$/), 'op_ and 64 hexadecimal digits').describe(
  'Id of a write. The header X-Gateway-Operation-Id of the answer to the write holds this id.',
);

export const SubscriptionId = accepts(
  z.string().regex(/^sub_[a-f0-9]{32}$/),
  'sub_ and 32 hexadecimal digits',
).describe('Id of a subscription.');

export const RealtimeSessionId = accepts(
  z.string().regex(/^rts_[a-f0-9]{32}$/),
  'rts_ and 32 hexadecimal digits',
).describe('Id of a realtime session.');

export const ConversationId = defineId('conversation', 'cnv');
export const MessageId = defineId('message', 'msg');
export const FileId = defineId('file', 'fil');
export const VisitorId = defineId('visitor', 'vis');
export const ContactId = defineId('contact', 'ctc', 100);
export const OperatorId = defineId('operator', 'opr');
export const TeamId = defineId('team', 'tem');
export const ChannelId = defineId('channel', 'chn');
export const SubsiteId = defineId('subsite', 'sst');
export const OfferId = defineId('offer', 'ofr');
export const DispositionId = defineId('disposition', 'dsp');
export const AiFeatureId = defineId('AI feature', 'aif');

const RECORDS = [ConversationId, ContactId, VisitorId];

/** Id of a conversation, a contact or a visitor. Examples show the first kind. */
export const RecordId: IdKind = {
  ...ConversationId,
  noun: 'record',
  schema: accepts(
    z
      .string()
      .max(100)
      .regex(
        new RegExp(
          `^(?:${RECORDS.map(({ prefix }) => prefix).join('|')})_[0-9]{1,20}_[1-9][0-9]{0,18}_[1-9][0-9]{0,18}$`,
        ),
      ),
    'an id such as cnv_1_1_42, ctc_1_1_42 or vis_1_1_42',
  ).describe('Id of a conversation (cnv_…), a contact (ctc_…) or a visitor (vis_…).'),
};
kinds.set(RecordId.schema, RecordId);

/** Returns the native id at the end of a public id. The corridor has already checked the public id. */
export const native = (id: string): string => id.slice(id.lastIndexOf('_') + 1);
