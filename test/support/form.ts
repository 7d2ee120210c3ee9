/**
 * The form of the suite. The long form, `TEST_FORM=long npm test`, strikes, draws and repeats as often as the checks
 * demand. CI runs the short form. It fits into a few minutes and still finds every planted defect.
 */
export const LONG = process.env['TEST_FORM'] === 'long';

/** The number of repetitions in the current form of the suite. */
export const times = (short: number, long: number): number => (LONG ? long : short);
