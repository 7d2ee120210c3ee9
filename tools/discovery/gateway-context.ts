import { z } from 'zod';
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
  summary: 'Identity and grants of this credential: scopes, websites, data access, restrictions, guides. Start here.',
  rest: 'GET /api/v1/context',
  effect: 'read',
  tag: 'Discovery',
  scopes: [],
  restrictions: 'none',
  input: {},
  output: z.strictObject({
    principal: z.literal('app_installation').describe('Kind of caller.'),
    environment: z.enum(['live', 'test']).describe('Environment of the credential.'),
    organization_id: identifier('org', 'organization'),
    app_id: identifier('app', 'app'),
    installation_id: identifier('ins', 'installation'),
    scopes: z.array(z.enum(SCOPES)).describe('Granted scopes.'),
    website_ids: z.array(WebsiteId).describe('Granted websites.'),
    data_access: z
      .strictObject({
        message_content: z.boolean().describe('Whether message texts, and values derived from them, may be shown.'),
        pii: z.boolean().describe('Whether personal data may be shown.'),
        internal_notes: z.boolean().describe('Whether internal messages and notes may be shown.'),
      })
      .describe('Data-access flags. Each class of data also needs its scope.'),
    restrictions: z
      .strictObject({
        channel_ids: z.array(ChannelId.schema).optional().describe('Permitted channels; absent means all.'),
        team_ids: z.array(TeamId.schema).optional().describe('Permitted teams; absent means all.'),
        subsite_ids: z.array(SubsiteId.schema).optional().describe('Permitted subsites; absent means all.'),
      })
      .describe('Limits on conversations; empty means unrestricted.'),
    authority_expires_at: z.int().min(1).describe('When the credential expires, in Unix seconds.'),
    guides: z.array(z.enum(GUIDE_NAMES)).describe('Names of the guides for guide_read.'),
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
