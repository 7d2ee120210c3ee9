import type { IncomingHttpHeaders } from 'node:http';
import type { ClientTold } from '../../core/audit.ts';
import { isObject } from '../../core/json.ts';
import { headerOf } from '../http/request.ts';
import { INVALID_PARAMS, type Message, type Params, RpcError } from '../jsonrpc/envelope.ts';
import { ASSUMED, legacyOf, MODERN, SERVED, type Version } from './versions.ts';

/** Error codes of MCP 2026-07-28, both with HTTP status 400. */
const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

const META = 'io.modelcontextprotocol';
const VERSION = `${META}/protocolVersion`;
const CLIENT = `${META}/clientInfo`;
const CAPABILITIES = `${META}/clientCapabilities`;

/** For each method that needs the header Mcp-Name: the member of params that the header repeats. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

export interface Era {
  readonly version: Version;
  /** The client's W3C trace context, unchanged. */
  readonly traceparent?: string;
  /** True if the client declares that it reads structuredContent. */
  readonly readsStructured?: boolean;
  /** True if the client declares that it can show a page to the person who uses it. */
  readonly opensPages?: boolean;
  readonly client?: ClientTold | undefined;
}

/** True if MCP-Protocol-Version has a value other than one of the older versions. */
export const isModern = ({ 'mcp-protocol-version': header }: IncomingHttpHeaders): boolean =>
  header !== undefined && legacyOf(header) === undefined;

/**
 * The version of a message. A message is modern if its header or its `_meta` names a version other than the older ones.
 * Only modern messages follow the rules of MCP 2026-07-28. Throws an RpcError for HTTP status 400 if a modern message
 * breaks a rule of its envelope.
 */
export function eraOf(headers: IncomingHttpHeaders, message: Message): Era {
  const header = headerOf(headers, 'mcp-protocol-version');
  const params: Params = message.kind === 'request' ? message.params : {};
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  const named = meta[VERSION];
  if (!isModern(headers) && (named === undefined || legacyOf(named) !== undefined))
    return { version: legacyOf(header) ?? ASSUMED };

  const id = message.kind === 'request' ? message.id : undefined;
  const refuse = (code: number, text: string, data?: object): RpcError => new RpcError(code, text, data, id);
  const malformed = (member: string, expected: string): RpcError =>
    refuse(INVALID_PARAMS, `The member params._meta["${member}"] must be ${expected}.`);
  const mismatch = (name: string, member: string): RpcError =>
    refuse(HEADER_MISMATCH, `The header ${name} must have the value of ${member} in the body.`);

  if (named !== undefined && typeof named !== 'string') throw malformed(VERSION, `the text "${MODERN}"`);
  if (named !== undefined && named !== header) throw mismatch('MCP-Protocol-Version', `params._meta["${VERSION}"]`);
  if (header !== MODERN)
    throw refuse(UNSUPPORTED_VERSION, 'The gateway does not serve this MCP version. Use one of data.supported.', {
      supported: SERVED,
      requested: header ?? '',
    });
  if (message.kind === 'notification') return { version: MODERN };

  if (named === undefined) throw malformed(VERSION, `the text "${MODERN}"`);
  const capabilities = meta[CAPABILITIES];
  if (!isObject(capabilities)) throw malformed(CAPABILITIES, 'an object');
  const client = meta[CLIENT];
  if (client !== undefined && !isImplementation(client))
    throw malformed(CLIENT, 'an object with the texts name and version');
  // Two different values of a header are joined, so they differ from the one in the body.
  if (headerOf(headers, 'mcp-method') !== message.method) throw mismatch('Mcp-Method', 'method');
  const member = NAMED.get(message.method);
  const value = member === undefined ? undefined : params[member];
  // The schema of the params refuses other values later.
  if (typeof value === 'string' && decoded(headerOf(headers, 'mcp-name')) !== value)
    throw mismatch('Mcp-Name', `params.${member}`);
  const { traceparent } = meta;
  const { elicitation } = capabilities;
  return {
    version: MODERN,
    readsStructured: isObject(capabilities['structuredContent']),
    opensPages: isObject(elicitation) && isObject(elicitation['url']),
    client: clientOf(client),
    ...(typeof traceparent === 'string' && { traceparent }),
  };
}

const isImplementation = (value: unknown): boolean =>
  isObject(value) && typeof value['name'] === 'string' && typeof value['version'] === 'string';

/** What a client tells of itself, for audit records: short, and without characters that no name has. */
function clientOf(told: unknown): ClientTold | undefined {
  const { name, version } = isObject(told) ? told : {};
  const short = (value: unknown, most: number): string =>
    typeof value === 'string'
      ? value
          .toWellFormed()
          .replace(/[\p{C}\s]+/gu, ' ')
          .trim()
          .slice(0, most)
          .toWellFormed()
      : '';
  return short(name, 100) === '' ? undefined : { name: short(name, 100), version: short(version, 40) };
}

const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;
const PLAIN = /^[\t\x20-\x7e]*$/;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Mcp-Name, decoded if it has MCP's marks of Base64. Undefined if it is not valid. */
function decoded(text: string | undefined): string | undefined {
  if (text === undefined || !PLAIN.test(text)) return undefined;
  if (!text.startsWith('=?base64?') || !text.endsWith('?=')) return text;
  const [, base64] = ENCODED.exec(text) ?? [];
  if (base64 === undefined) return undefined;
  try {
    return UTF8.decode(Buffer.from(base64, 'base64'));
  } catch {
    return undefined;
  }
}
