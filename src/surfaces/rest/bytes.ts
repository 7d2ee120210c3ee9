import { createHash } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import contentDisposition from 'content-disposition';
import type { ParameterError } from '../../core/failures.ts';
import type { FileBytes } from '../../core/reads.ts';
import type { BytesRequest } from '../../core/tool.ts';
import { headerOf } from '../http/request.ts';

/**
 * Reads Range, If-Range and If-Match of a request for file content (RFC 9110, sections 13 and 14). For JSON, If-Match
 * means the parameter `version`, and Range is ignored. Raw bytes take either Range or the parameter `chunk`.
 */
export function readConditions(
  request: IncomingMessage,
  wantsBytes: boolean,
  input: Record<string, unknown>,
): { bytes: BytesRequest; problems: ParameterError[] } {
  const { 'if-match': matchHeader } = request.headers;
  const ifRange = headerOf(request.headers, 'if-range');
  const rangeHeader = wantsBytes ? request.headers.range : undefined;
  const range = rangeHeader === undefined ? undefined : readRange(rangeHeader);
  // Only one strong entity tag: weak tags, lists and `*` do not identify exact bytes.
  const ifMatch = /^"([a-f0-9]{16,64})"$/.exec(matchHeader ?? '')?.[1];
  if (!wantsBytes && ifMatch !== undefined) input['version'] ??= ifMatch;
  return {
    bytes: {
      ...(range && { range, ...(ifRange !== undefined && { ifRange }) }),
      ...(ifMatch !== undefined && { ifMatch }),
    },
    problems: [
      ...(rangeHeader !== undefined && !range ? [refused('range', 'one range of bytes, such as bytes=0-65535')] : []),
      ...(rangeHeader !== undefined && input['chunk'] !== undefined
        ? [refused('chunk', 'no chunk beside the header Range')]
        : []),
      ...(matchHeader !== undefined && ifMatch === undefined
        ? [refused('if-match', 'one strong entity tag: the version of the file in quotes')]
        : []),
    ],
  };
}

const refused = (parameter: string, expected: string): ParameterError => ({
  parameter,
  code: 'invalid_parameter',
  expected,
});

/** Reads one byte range. Undefined for several ranges, another unit, or a range without a number. */
function readRange(header: string): BytesRequest['range'] {
  const [, first, last] = /^bytes=([0-9]{0,16})-([0-9]{0,16})$/i.exec(header) ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  return first === ''
    ? { suffix: Number(last) }
    : { first: Number(first), last: last === '' ? undefined : Number(last) };
}

export function bytesHeaders(part: FileBytes): OutgoingHttpHeaders {
  const last = part.offset + part.bytes.length - 1;
  return {
    ...(part.bytes.length > 0 && { 'Content-Range': `bytes ${part.offset}-${last}/${part.size}` }),
    'Accept-Ranges': 'bytes',
    ETag: `"${part.version}"`,
    'X-Gateway-File-Version': part.version,
    'Content-Digest': `sha-256=:${createHash('sha256').update(part.bytes).digest('base64')}:`,
    'Content-Disposition': contentDisposition(part.name, { type: 'attachment' }),
  };
}
