import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../../core/failures.ts';
import { BODY_BYTES } from '../../core/limits.ts';
import { exchangeOf } from './exchange.ts';
import { parseJson } from './json.ts';

/**
 * Reads a raw body. Throws `body_too_large` before it keeps more than `limit` bytes, and `service_unavailable` if one
 * network sends too many body bytes at the same time.
 */
export function readBody(request: IncomingMessage, response: ServerResponse, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    const giveUp = (error: unknown): void => {
      // Refuse at once. The rest of the body can still arrive, so the connection cannot be used again.
      if (!response.headersSent) response.setHeader('Connection', 'close');
      request.removeAllListeners('data').resume();
      reject(error);
    };
    if (Number(request.headers['content-length'] ?? 0) > limit) {
      giveUp(new Failure('body_too_large'));
      return;
    }
    if (request.headers.expect !== undefined && request.httpVersion === '1.1') response.writeContinue();
    const exchange = exchangeOf(request);
    request.on('data', (part: Buffer) => {
      length += part.length;
      try {
        if (length > limit) throw new Failure('body_too_large');
        exchange?.receive(part.length);
        parts.push(part);
      } catch (error) {
        giveUp(error);
      }
    });
    request.on('end', () => resolve(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)));
    // Each request is closed in the end. After a complete body there is nothing to reject, and a failure with its stack
    // takes 20 µs.
    const gone = (): void => {
      if (!request.readableEnded) reject(new Failure('invalid_request'));
    };
    request.on('error', gone);
    request.on('close', gone);
    // A destroyed request emits no more events.
    if (request.destroyed) gone();
  });
}

export async function readJson(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  requireJson(request);
  const parsed = parseJson(await readBody(request, response, BODY_BYTES));
  if (!parsed) throw new Failure('invalid_json');
  return parsed.value;
}

/** A media type with no parameter but a charset of UTF-8. Parameters may be empty (RFC 9110, section 5.6.6). */
export const typeInUtf8 = (type: 'application/json' | 'application/x-www-form-urlencoded'): RegExp =>
  new RegExp(`^${type}[ \\t]*(?:(?:;[ \\t]*)+(?:charset[ \\t]*=[ \\t]*(?:utf-8|"utf-8")[ \\t]*(?:;[ \\t]*)*)?)?$`, 'i');

export const JSON_TYPE = typeInUtf8('application/json');

/** Throws `unsupported_media_type` unless the body is uncompressed application/json in UTF-8 (checks MC-06, HT-06). */
export function requireJson(request: IncomingMessage): void {
  const { 'content-type': type = '', 'content-encoding': encoding } = request.headers;
  if (!JSON_TYPE.test(type) || (encoding !== undefined && encoding.toLowerCase() !== 'identity')) {
    const detail = 'Send the body as application/json in UTF-8, without a content coding.';
    throw new Failure('unsupported_media_type', { detail });
  }
}
