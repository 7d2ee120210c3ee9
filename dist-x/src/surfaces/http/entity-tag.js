import { hash } from 'node:crypto';
/** A strong entity tag, with its quotes: equal bytes have an equal tag (RFC 9110, section 8.8.3). */
export const entityTag = (body) => `"${hash('sha256', body, 'base64url')}"`;
/**
 * True if the header If-None-Match is `*` or contains the entity tag, by weak comparison (RFC 9110, section 13.1.2). A
 * tag contains no quotes, so it stands in the list exactly if it stands in the text.
 */
export const namesTag = (field, tag) => field !== undefined && (field.trim() === '*' || field.includes(tag));
//# sourceMappingURL=entity-tag.js.map