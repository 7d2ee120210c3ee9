import type { IncomingMessage } from 'node:http';
import accepts from 'accepts';

/**
 * A charset parameter of a media type in Accept. JSON and event streams are always UTF-8, so the parameter has no effect
 * (RFC 8259, section 11). A parameter at the start of the header stays, so that such a header is still refused.
 */
const CHARSET = /(?!^);[ \t]*charset=(?:"[^"\\,;]{0,40}"|[^\s",;]{1,40})(?=[ \t]*(?:[;,]|$))/gi;

/** The type that the header Accept prefers, or false if it lists none of them. Without the header, the first type. */
export function preferredType<Type extends string>(request: IncomingMessage, types: readonly Type[]): Type | false {
  const accept = request.headers.accept?.replace(CHARSET, '') ?? '';
  const chosen = accepts({ headers: { accept } } as IncomingMessage).type([...types]); // it reads only the headers
  return types.find((type) => type === chosen) ?? false;
}
