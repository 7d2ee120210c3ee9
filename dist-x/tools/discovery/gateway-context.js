import { effectiveOf } from '../../src/core/authority.js';
import { BODY_BYTES, PAGE_RECORDS, PLAIN_BYTES, TOKENS_PER_MINUTE } from '../../src/core/limits.js';
import { localTime } from '../../src/core/local-time.js';
import { defineTool } from '../../src/core/tool.js';
import { GatewayContext } from '../../src/views/gateway-context.js';
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
    output: GatewayContext,
    async handle({ authority, gateway, read }) {
        const { channel_ids, team_ids, subsite_ids } = authority.restrictions;
        const effective = effectiveOf(authority);
        const websites = authority.scopes.has('website_read') ? await read.websites() : null;
        const quota = gateway.quota();
        return {
            principal: 'app_installation',
            environment: authority.environment,
            organization_id: authority.organizationId,
            app_id: authority.appId,
            installation_id: authority.installationId,
            scopes: effective.scopes,
            website_ids: effective.website_ids,
            data_access: effective.data_access,
            restrictions: {
                ...(channel_ids && { channel_ids: [...channel_ids] }),
                ...(team_ids && { team_ids: [...team_ids] }),
                ...(subsite_ids && { subsite_ids: [...subsite_ids] }),
            },
            ...(authority.approve.size > 0 && { approval_required: [...authority.approve].sort() }),
            authority_expires_at: authority.expiresAt,
            guides: gateway.guides(),
            websites: websites?.map(({ website_id, name, time_zone, now }) => ({
                ...{ website_id, name, time_zone },
                now: localTime(now, time_zone),
            })) ?? null,
            scope_effective: effective,
            limits: {
                units_per_minute: quota?.perMinute ?? null,
                burst: quota?.burst ?? null,
                answer_bytes_per_unit: PLAIN_BYTES,
                body_bytes: BODY_BYTES,
                page_records: PAGE_RECORDS,
                tokens_per_minute: TOKENS_PER_MINUTE,
            },
        };
    },
});
//# sourceMappingURL=gateway-context.js.map