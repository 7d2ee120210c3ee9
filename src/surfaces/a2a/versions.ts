export const VERSION = '1.0';

/**
 * True for A2A version 1.0. A patch number is ignored (A2A, section 3.6). A client of version 0.3 sends no version at
 * all (section 3.6.2).
 */
export const speaks = (asked: string | undefined): boolean => /^1\.0(\.[0-9]{1,9})?$/.test(asked ?? '');
