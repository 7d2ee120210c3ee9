import { hash } from 'node:crypto';

/** A strong entity tag, with its quotes: equal bytes have an equal tag (RFC 9110, section 8.8.3). */
export const entityTag = (body: string | Buffer): string => `"${hash('sha256', body, 'base64url')}"`;

/** True if the header If-None-Match contains the entity tag, by weak comparison (RFC 9110, section 13.1.2). */
export const namesTag = (field: string | undefined, tag: string): boolean =>
  field?.split(',').some((one) => ['*', tag].includes(one.trim().replace(/^W\//, ''))) ?? false;
