/** The only A2A version that the gateway serves. The card names it in this form. */
export const VERSION = '1.0';

/**
 * Whether a request asks for this version. A client of version 0.3 names none (A2A, section 3.6.2). Patch numbers are
 * ignored (A2A, section 3.6).
 */
export const speaks = (asked: string | undefined): boolean => /^1\.0(\.[0-9]{1,9})?$/.test(asked ?? '');
