/**
 * The suite has a short and a long form. The long form, `TEST_FORM=long npm test`, injects as many faults and repeats
 * the tests as often as the checks demand. CI runs the short form, which takes a few minutes and still finds every
 * planted defect.
 */
export const LONG = process.env['TEST_FORM'] === 'long';

export const times = (short: number, long: number): number => (LONG ? long : short);
