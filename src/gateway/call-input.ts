import type { Authority } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { NONE, parseId, type WebsiteKey } from '../core/ids.ts';
import type { Tool } from '../core/tool.ts';
import type { Call } from './contract.ts';
import { inputErrors, refusalOf, unstorable } from './input-errors.ts';

export function parseInput(call: Call): Record<string, unknown> {
  const parsed = call.tool.input.safeParse(call.input);
  const errors = [
    ...(call.problems ?? []),
    ...(parsed.success ? unstorable(call.tool, call.input) : inputErrors(call.tool, parsed.error, call.input)),
  ];
  if (errors.length > 0) throw refusalOf(errors);
  return parsed.data ?? {};
}

const NO_WEBSITE: WebsiteKey = { id: '', tenant: '0', site: '0' };

/** The native numbers of websites. Throws `not_found` for a website that is not granted. */
export const sitesOf = ({ websites }: Authority, ids: readonly string[]): string[] =>
  ids.map((id) => {
    const website = websites.get(id);
    if (!website) throw new Failure('not_found', { outside: true });
    return website.site;
  });

/**
 * The website of a call, from `website_id` or the id of a record. All ids of the input must belong to it, and the
 * credential must be granted it. Otherwise the call fails with `not_found` before any query.
 */
export function websiteOf(tool: Tool, input: Record<string, unknown>, authority: Authority): WebsiteKey {
  const named = new Set<string>();
  for (const parameter of tool.parameters) {
    const value = input[parameter.name];
    if (typeof value !== 'string' || value === NONE || parameter.name === tool.asksAbout) continue;
    if (parameter.name === 'website_id') named.add(value);
    else if (parameter.id) named.add(parseId(value)?.website ?? '');
  }
  const [id] = named;
  if (id === undefined) return NO_WEBSITE;
  const website = authority.websites.get(id);
  if (named.size > 1 || !website) throw new Failure('not_found', { outside: true });
  return website;
}
