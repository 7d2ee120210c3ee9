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
  summary:
    'Who this credential is and what it may do: scopes, websites, data access, restrictions, guides. Start here.',
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
        message_content: z.boolean().describe('Text of messages and what is drawn from it.'),
        pii: z.boolean().describe('Personal data.'),
        internal_notes: z.boolean().describe('Internal messages and notes.'),
      })
      .describe('Classes of data that may be shown, together with their scopes.'),
    restrictions: z
      .strictObject({
        channel_ids: z.array(ChannelId.schema).optional().describe('Only these channels.'),
        team_ids: z.array(TeamId.schema).optional().describe('Only these teams.'),
        subsite_ids: z.array(SubsiteId.schema).optional().describe('Only these subsites.'),
      })
      .describe('Limits on conversations; an absent dimension is unrestricted.'),
    authority_expires_at: z.int().min(1).describe('Unix seconds.'),
    guides: z.array(z.enum(GUIDE_NAMES)).describe('Guides that guide_read gives.'),
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
