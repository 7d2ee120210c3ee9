import { Failure } from '../../core/failures.js';
import { selects } from '../../core/toolsets.js';
import { mayCall } from '../../gateway/registry.js';
import { RpcError } from '../jsonrpc/envelope.js';
import { invalidParams } from './refusals.js';
import { MODERN } from './versions.js';
/** Websites in `resources/list`. Clients reach all others with URI templates. */
const LISTED_WEBSITES = 50;
export function mcpResources(resources, registry) {
    const matchers = resources.map((resource) => ({ resource, match: matcher(resource.uri) }));
    const readable = async (mcpRequest) => {
        const authority = await mcpRequest.admit();
        return resources.filter(({ tool }) => {
            const reads = registry.get(tool);
            return reads !== undefined && mayCall(reads, authority) && selects(mcpRequest.selection, reads);
        });
    };
    return {
        async list(mcpRequest) {
            const authority = await mcpRequest.admit();
            const websites = [...authority.websites.keys()].slice(0, LISTED_WEBSITES);
            const guides = mcpRequest.corridor.discovery(authority).guides();
            return (await readable(mcpRequest)).flatMap((resource) => (resource.list?.({ websites, guides }) ?? []).map((variables) => {
                const values = Object.values(variables);
                const { description, mimeType } = resource;
                return {
                    uri: expand(resource.uri, variables),
                    name: [resource.name, ...values].join(' '),
                    title: [resource.title, ...values].join(' '),
                    description,
                    mimeType,
                };
            }));
        },
        async templates(mcpRequest) {
            const templates = (await readable(mcpRequest)).filter(({ uri }) => uri.includes('{'));
            return {
                resourceTemplates: templates.map(({ uri, name, title, description, mimeType }) => ({
                    uriTemplate: uri,
                    name,
                    title,
                    description,
                    mimeType,
                })),
            };
        },
        async read(mcpRequest, uri) {
            for (const { resource, match } of matchers) {
                const variables = match(uri);
                const input = variables && resource.input(variables);
                const reads = registry.get(resource.tool);
                if (!input || !reads || !selects(mcpRequest.selection, reads))
                    continue;
                const outcome = await mcpRequest.call(resource.tool, input);
                if ('body' in outcome) {
                    const json = mcpRequest.text(outcome.body);
                    const text = resource.text?.(outcome.body) ?? json;
                    return { contents: [{ uri, mimeType: resource.mimeType, text }] };
                }
                // A status below 429 is caused by the URI or the caller, so it becomes a parameter error. Any other failure
                // sets the HTTP status of the reply.
                if (outcome.failure.status < 429)
                    throw refusedUri(mcpRequest, uri, outcome.failure);
                throw outcome.failure;
            }
            await mcpRequest.admit();
            throw refusedUri(mcpRequest, uri, new Failure('not_found'));
        },
    };
}
/** In MCP 2026-07-28, the error of `resources/read` repeats the URI of the request. */
export function refusedUri({ version, authority }, uri, failure) {
    const { code, message, data } = invalidParams(failure, authority);
    return new RpcError(code, message, version === MODERN ? { ...Object(data), uri } : data);
}
const VARIABLE = /\{(\w+)\}/g;
const expand = (template, variables) => template.replace(VARIABLE, (_, name) => variables[name] ?? '');
function matcher(template) {
    const pattern = new RegExp(`^${template.replace(VARIABLE, '(?<$1>[A-Za-z0-9_-]{1,100})')}$`);
    return (uri) => {
        const match = pattern.exec(uri);
        return match ? { ...match.groups } : undefined;
    };
}
//# sourceMappingURL=resources.js.map