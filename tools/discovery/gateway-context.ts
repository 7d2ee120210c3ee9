import { z } from 'zod';
import { example } from '../../src/core/example.ts';
import { GUIDE_NAMES } from '../../src/core/guides.ts';
import { ChannelId, SubsiteId, TeamId, WebsiteId } from '../../src/core/ids.ts';
import { SCOPES } from '../../src/core/scopes.ts';
import { defineTool } from '../../src/core/tool.ts';

const identifier = (prefix: string, noun: string) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}_[a-f0-9]{32}$`))
    .describe(`Id of the ${noun}.`);

export default defineTool({
  name: 'gateway_context',
  title: 'Read own authority',
  summary: 'Identity and grants of the credential: scopes, websites, data access, restrictions, guides. Start here.',
  rest: 'GET /api/v1/context',
  effect: 'read',
  tag: 'Discovery',
  scopes: [],
  restrictions: 'none',
  input: {},
  output: z.strictObject({
    principal: z.literal('app_installation').describe('Kind of the caller. The caller is always an app installation.'),
    environment: example('test', z.enum(['live', 'test']).describe('Environment of the credential: live or test.')),
    organization_id: identifier('org', 'organization'),
    app_id: identifier('app', 'app'),
    installation_id: identifier('ins', 'installation'),
    scopes: example(
      ['website_read', 'conversation_read', 'contact_read', 'contact_read_pii'],
      z.array(z.enum(SCOPES)).describe('Scopes that are granted to the credential.'),
    ),
    website_ids: z.array(WebsiteId).describe('Ids of the websites that are granted to the credential.'),
    data_access: z
      .strictObject({
        message_content: z
          .boolean()
          .describe('True if the credential may see the texts of messages and values that come from these texts.'),
        pii: z.boolean().describe('True if the credential may see personal data.'),
        internal_notes: z.boolean().describe('True if the credential may see internal messages and notes.'),
      })
      .describe(
        'Data-access flags of the credential. A flag alone shows nothing: each class of data also needs a scope.',
      ),
    restrictions: example(
      {},
      z
        .strictObject({
          channel_ids: z
            .array(ChannelId.schema)
            .optional()
            .describe('Ids of the permitted channels. Absent: all channels are permitted.'),
          team_ids: z
            .array(TeamId.schema)
            .optional()
            .describe('Ids of the permitted teams. Absent: all teams are permitted.'),
          subsite_ids: z
            .array(SubsiteId.schema)
            .optional()
            .describe('Ids of the permitted subsites. Absent: all subsites are permitted.'),
        })
        .describe(
          'Restrictions on the conversations that the credential may see. Empty if the credential has no restrictions.',
        ),
    ),
    authority_expires_at: example(
      1_798_675_200,
      z.int().min(1).describe('Time at which the credential expires, in Unix seconds.'),
    ),
    guides: example(
      ['overview', 'investigation', 'contacts'],
      z.array(z.enum(GUIDE_NAMES)).describe('Names of the guides that guide_read can return to this credential.'),
    ),
  }),
  async handle({ authority, gateway }) {
    const { channel_ids, team_ids, subsite_ids } = authority.restrictions;
    return {
      principal: 'app_installation' as const,
      environment: authority.environment,
      organization_id: authority.organizationId,
      app_id: authority.appId,
      installation_id: authority.installationId,
      scopes: SCOPES.filter((scope) => authority.scopes.has(scope)),
      website_ids: [...authority.websites.keys()],
      data_access: {
        message_content: authority.dataAccess.has('message_content'),
        pii: authority.dataAccess.has('pii'),
        internal_notes: authority.dataAccess.has('internal_notes'),
      },
      restrictions: {
        ...(channel_ids && { channel_ids: [...channel_ids] }),
        ...(team_ids && { team_ids: [...team_ids] }),
        ...(subsite_ids && { subsite_ids: [...subsite_ids] }),
      },
      authority_expires_at: authority.expiresAt,
      guides: gateway.guides(),
    };
  },
});
