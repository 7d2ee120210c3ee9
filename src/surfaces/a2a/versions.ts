/** The one version that is spoken here, as the card names it (contract, A2A endpoint). */
export const VERSION = '1.0';

/**
 * Whether a request asks for it. None is named by a client of 0.3 (A2A, section 3.6.2), and patch numbers do not count
 * (3.6).
 */
export const speaks = (asked: string | undefined): boolean => /^1\.0(\.[0-9]{1,9})?$/.test(asked ?? '');
