import type { IncomingHttpHeaders } from 'node:http';
import { INVALID_PARAMS, isObject, type Message, type Params, RpcError } from '../jsonrpc/envelope.ts';
import { ASSUMED, legacyOf, MODERN, SERVED, type Version } from './versions.ts';

/** Error codes that MCP 2026-07-28 defines. The HTTP status of both codes is 400. */
const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

const META = 'io.modelcontextprotocol';
const VERSION = `${META}/protocolVersion`;
const CLIENT = `${META}/clientInfo`;
const CAPABILITIES = `${META}/clientCapabilities`;

/** For each method that needs the header Mcp-Name, the member of params that the header repeats. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

export interface Era {
  readonly version: Version;
  /** The W3C trace context of the client, as the client sent it. */
  readonly traceparent?: string;
}

/** True when the header MCP-Protocol-Version names anything but an older version. An absent header names none. */
export const isModern = ({ 'mcp-protocol-version': header }: IncomingHttpHeaders): boolean =>
  header !== undefined && legacyOf(header) === undefined;

/**
 * Decides the version of a message. A message is modern when its header or its `_meta` names anything but an older
 * version. The rules of MCP 2026-07-28 apply to modern messages only. Throws an RpcError for HTTP status 400 when a
 * modern message breaks a rule of its envelope.
 */
export function eraOf(headers: IncomingHttpHeaders, message: Message): Era {
  const header = one(headers, 'mcp-protocol-version');
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
  if (!isObject(meta[CAPABILITIES])) throw malformed(CAPABILITIES, 'an object');
  const client = meta[CLIENT];
  if (client !== undefined && !isImplementation(client))
    throw malformed(CLIENT, 'an object with the texts name and version');
  if (one(headers, 'mcp-method') !== message.method) throw mismatch('Mcp-Method', 'method');
  const member = NAMED.get(message.method);
  const value = member === undefined ? undefined : params[member];
  // The schema of the params refuses a value that is not a text. So only a text is compared here.
  if (typeof value === 'string' && decoded(one(headers, 'mcp-name')) !== value)
    throw mismatch('Mcp-Name', `params.${member}`);
  const { traceparent } = meta;
  return { version: MODERN, ...(typeof traceparent === 'string' && { traceparent }) };
}

const isImplementation = (value: unknown): boolean =>
  isObject(value) && typeof value['name'] === 'string' && typeof value['version'] === 'string';

/**
 * The value of a header. Node joins repeated headers of these names with a comma. The joined value then differs from the
 * value in the body.
 */
const one = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
};

const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;
const PLAIN = /^[\t\x20-\x7e]*$/;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The value of Mcp-Name, decoded from Base64 when it has the marks of MCP. `undefined` if the value is not valid. */
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
