/**
 * The form of the suite. `TEST_FORM=long npm test` strikes, draws and repeats as often as the checks name; the short
 * form, which CI runs, as often as fits into its minutes and still finds every planted defect.
 */
export const LONG = process.env['TEST_FORM'] === 'long';

/** How often, in either form. */
export const times = (short: number, long: number): number => (LONG ? long : short);
