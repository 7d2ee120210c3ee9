import type { Authority } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { parseId, type WebsiteKey } from '../core/ids.ts';
import type { Tool } from '../core/tool.ts';
import type { Call } from './call.ts';
import { inputErrors, refusalOf, unstorable } from './input-errors.ts';

/** What a call asks for: its input, key, revision and website, or the refusal of what cannot be read. */

/** The Idempotency-Key of a write; `undefined` for what is none (contract, Common rules 5). */
export function keyOf({ tool, idempotencyKey: key }: Call): string | undefined {
  if (tool.idempotency === 'none') return undefined;
  const parameter = 'Idempotency-Key';
  if (key === undefined && tool.idempotency === 'optional') return undefined;
  if (key === undefined) throw new Failure('idempotency_key_required', { errors: [{ parameter, code: 'missing' }] });
  if (/^[!-~]{1,128}$/.test(key)) return key;
  throw new Failure('invalid_idempotency_key', { errors: [{ parameter, code: 'invalid_idempotency_key' }] });
}

/** The revision that If-Match names, as an entity tag or as a bare number (decisions, section 12; checks, HT-10). */
export function ifMatchOf({ tool, ifMatch }: Call): number | undefined {
  if (!tool.ifMatch) return undefined;
  const parameter = 'If-Match';
  if (ifMatch === undefined) throw new Failure('if_match_required', { errors: [{ parameter, code: 'missing' }] });
  const [, tag, bare] = /^(?:"([1-9][0-9]{0,9})"|([1-9][0-9]{0,9}))$/.exec(ifMatch) ?? [];
  const revision = tag ?? bare;
  if (revision === undefined) {
    throw new Failure('invalid_parameter', { errors: [{ parameter, code: 'invalid_parameter' }] });
  }
  return Number(revision);
}

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

/**
 * The one website that a call is about: the `website_id` given, or the owner that a resource id names. Every other id
 * of the input must name the same website, and the credential must hold it: decided before any query.
 */
export function websiteOf(tool: Tool, input: Record<string, unknown>, authority: Authority): WebsiteKey {
  const named = new Set<string>();
  for (const parameter of tool.parameters) {
    const value = input[parameter.name];
    if (typeof value !== 'string') continue;
    if (parameter.name === 'website_id') named.add(value);
    else if (parameter.id) named.add(parseId(value)?.website ?? '');
  }
  const [id] = named;
  if (id === undefined) return NO_WEBSITE;
  const website = authority.websites.get(id);
  if (named.size > 1 || !website) throw new Failure('not_found');
  return website;
}
