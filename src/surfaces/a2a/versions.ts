/** The only A2A version that the gateway serves, in the form that the agent card uses. */
export const VERSION = '1.0';

/**
 * True when the client asks for A2A version 1.0. A client of version 0.3 sends no version (A2A, section 3.6.2). A patch
 * number is ignored (A2A, section 3.6).
 */
export const speaks = (asked: string | undefined): boolean => /^1\.0(\.[0-9]{1,9})?$/.test(asked ?? '');
