import { z } from 'zod';
import { example } from '../core/example.ts';
import { GUIDE_NAMES } from '../core/guides.ts';
import { ChannelId, hexId, type IdKind, SubsiteId, TeamId, WebsiteId } from '../core/ids.ts';
import { named } from '../core/json-schema.ts';
import { ServiceText } from '../core/texts.ts';
import { ScopeName } from './scope-name.ts';

const DataAccessFlags = named(
  'DataAccessFlags',
  z.strictObject({
    message_content: z
      .boolean()
      .describe('True if the credential may see the texts of messages and values that come from these texts.'),
    pii: z.boolean().describe('True if the credential may see personal data.'),
    internal_notes: z.boolean().describe('True if the credential may see internal messages and notes.'),
  }),
);

const Limits = z.strictObject({
  units_per_minute: z.int().min(1).nullable().describe('Quota units of the app in a minute. Null if not known now.'),
  burst: z.int().min(1).nullable().describe('Quota units that the app can spend at once. Null if not known now.'),
  answer_bytes_per_unit: z.int().describe('A longer answer costs one unit more for each started part of this size.'),
  body_bytes: z.int().describe('Largest body of a request.'),
  page_records: z.int().describe('Largest limit of most pages.'),
  tokens_per_minute: z.int().describe('Access tokens that a client gets in a minute without a consent.'),
});

const permitted = ({ schema }: IdKind, nouns: string) =>
  z.array(schema).optional().describe(`Ids of the permitted ${nouns}. Absent: all ${nouns} are permitted.`);

/** The identity of a credential and what it can do now. */
export const GatewayContext = z.strictObject({
  principal: z.literal('app_installation').describe('Kind of the caller. The caller is always an app installation.'),
  environment: example('test', z.enum(['live', 'test']).describe('Environment of the credential: live or test.')),
  organization_id: hexId('org', 'organization'),
  app_id: hexId('app', 'app'),
  installation_id: hexId('ins', 'installation'),
  scopes: example(
    ['website_read', 'conversation_read', 'contact_read', 'contact_read_pii'],
    z.array(ScopeName).describe('Scopes that are granted to the credential.'),
  ),
  website_ids: z.array(WebsiteId).describe('Ids of the websites that are granted to the credential.'),
  data_access: DataAccessFlags.describe(
    'Data-access flags of the credential. A flag alone shows nothing: each class of data also needs a scope.',
  ),
  restrictions: example(
    {},
    z
      .strictObject({
        channel_ids: permitted(ChannelId, 'channels'),
        team_ids: permitted(TeamId, 'teams'),
        subsite_ids: permitted(SubsiteId, 'subsites'),
      })
      .describe(
        'Restrictions on the conversations that the credential may see. Empty if the credential has no restrictions.',
      ),
  ),
  approval_required: example(
    ['visitor_note_add'],
    z.array(ServiceText).optional().describe('Operations whose writes a person must approve first. Absent: none.'),
  ),
  authority_expires_at: example(
    1_798_675_200,
    z.int().min(1).describe('Time at which the credential expires, in Unix seconds.'),
  ),
  guides: example(
    ['overview', 'investigation', 'contacts'],
    z.array(z.enum(GUIDE_NAMES)).describe('Names of the guides that guide_read can return to this credential.'),
  ),
  websites: z
    .array(
      z.strictObject({
        website_id: WebsiteId,
        name: example('Larkspur Outfitters US', ServiceText.describe('Name of the website.')),
        time_zone: example('America/New_York', ServiceText.describe('IANA time zone of the website.')),
        now: example(
          '2026-11-24T09:15:00-05:00',
          ServiceText.describe('Time of this answer in the time zone of the website, with its UTC offset.'),
        ),
      }),
    )
    .nullable()
    .describe('Granted websites. Null without the scope website_read.'),
  scope_effective: z
    .strictObject({
      scopes: z.array(ScopeName).describe('Scopes of the token.'),
      website_ids: z.array(WebsiteId).describe('Websites of the token.'),
      data_access: DataAccessFlags.describe('Data-access flags of the token.'),
      expires_at: example(1_798_675_200, z.int().min(1).describe('Time at which the token ends, in Unix seconds.')),
    })
    .describe('What the token can do now. Less than scope of the token answer: rights were taken away.'),
  limits: example(
    {
      ...{ units_per_minute: 600, burst: 120, answer_bytes_per_unit: 131_072, body_bytes: 65_536 },
      ...{ page_records: 100, tokens_per_minute: 60 },
    },
    Limits.describe('Limits of the app and of the gateway.'),
  ),
});
