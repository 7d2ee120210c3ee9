import { Failure } from '../../core/failures.ts';
import { pick } from '../../core/json.ts';
import type { ResourceDeclaration } from '../../core/resource.ts';
import { selects } from '../../core/toolsets.ts';
import { mayCall, type Registry } from '../../gateway/registry.ts';
import { RpcError } from '../jsonrpc/envelope.ts';
import { invalidParams } from './refusals.ts';
import type { McpRequest } from './request.ts';
import { MODERN } from './versions.ts';

/** Websites in `resources/list`. Clients reach all others with URI templates. */
const LISTED_WEBSITES = 50;

type Description = Pick<ResourceDeclaration, 'name' | 'title' | 'description' | 'mimeType'>;

export type ResourceDescription = Description & { readonly uri: string };

export interface ReadResource {
  readonly contents: readonly { readonly uri: string; readonly mimeType: string; readonly text: string }[];
}

export function mcpResources(resources: readonly ResourceDeclaration[], registry: Registry) {
  const matchers = resources.map((resource) => ({ resource, match: matcher(resource.uri) }));
  const readable = async (mcpRequest: McpRequest): Promise<ResourceDeclaration[]> => {
    const authority = await mcpRequest.admit();
    return resources.filter(({ tool }) => {
      const reads = registry.get(tool);
      return reads !== undefined && mayCall(reads, authority) && selects(mcpRequest.selection, reads);
    });
  };
  return {
    async list(mcpRequest: McpRequest): Promise<ResourceDescription[]> {
      const authority = await mcpRequest.admit();
      const websites = [...authority.websites.keys()].slice(0, LISTED_WEBSITES);
      const guides = mcpRequest.corridor.discovery(authority).guides();
      return (await readable(mcpRequest)).flatMap((resource) =>
        (resource.list?.({ websites, guides }) ?? []).map((variables) => {
          const values = Object.values(variables);
          return {
            uri: expand(resource.uri, variables),
            name: [resource.name, ...values].join(' '),
            title: [resource.title, ...values].join(' '),
            ...pick(resource, 'description', 'mimeType'),
          };
        }),
      );
    },

    async templates(mcpRequest: McpRequest): Promise<{ resourceTemplates: (Description & { uriTemplate: string })[] }> {
      const templates = (await readable(mcpRequest)).filter(({ uri }) => uri.includes('{'));
      return {
        resourceTemplates: templates.map((one) => ({
          uriTemplate: one.uri,
          ...pick(one, 'name', 'title', 'description', 'mimeType'),
        })),
      };
    },

    async read(mcpRequest: McpRequest, uri: string): Promise<ReadResource> {
      for (const { resource, match } of matchers) {
        const variables = match(uri);
        const input = variables && resource.input(variables);
        const reads = registry.get(resource.tool);
        if (!input || !reads || !selects(mcpRequest.selection, reads)) continue;
        const outcome = await mcpRequest.call(resource.tool, input);
        if ('body' in outcome) {
          const json = mcpRequest.text(outcome.body);
          const text = resource.text?.(outcome.body) ?? json;
          return { contents: [{ uri, mimeType: resource.mimeType, text }] };
        }
        // A status below 429 is caused by the URI or the caller, so it becomes a parameter error. Any other failure
        // sets the HTTP status of the reply.
        if (outcome.failure.status < 429) throw refusedUri(mcpRequest, uri, outcome.failure);
        throw outcome.failure;
      }
      await mcpRequest.admit();
      throw refusedUri(mcpRequest, uri, new Failure('not_found'));
    },
  };
}

/** In MCP 2026-07-28, the error of `resources/read` repeats the URI of the request. */
export function refusedUri({ version, authority }: McpRequest, uri: string, failure: Failure): RpcError {
  const { code, message, data } = invalidParams(failure, authority);
  return new RpcError(code, message, version === MODERN ? { ...Object(data), uri } : data);
}

const VARIABLE = /\{(\w+)\}/g;

const expand = (template: string, variables: Readonly<Record<string, string>>): string =>
  template.replace(VARIABLE, (_, name: string) => variables[name] ?? '');

function matcher(template: string): (uri: string) => Readonly<Record<string, string>> | undefined {
  const pattern = new RegExp(`^${template.replace(VARIABLE, '(?<$1>[A-Za-z0-9_-]{1,100})')}$`);
  return (uri) => {
    const match = pattern.exec(uri);
    return match ? { ...match.groups } : undefined;
  };
}
