import type { z } from 'zod';
import type { ParameterError } from '../core/failures.ts';

/**
 * What was wrong with an input, by name and code: never by value, and never with a library's own words. Names that
 * we do not know came from the caller and are repeated only where they look like a name.
 */
export function inputErrors(error: z.ZodError, input: Readonly<Record<string, unknown>>): ParameterError[] {
  const errors = error.issues.flatMap((issue): ParameterError[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ parameter: printable(key), code: 'unsupported_parameter' }));
    }
    const parameter = String(issue.path[0] ?? '');
    const missing = input[parameter] === undefined;
    return [{ parameter, code: missing ? 'missing' : parameter === 'cursor' ? 'invalid_cursor' : 'invalid_parameter' }];
  });
  // A value can break several rules of its schema; that is one error of one parameter.
  return [...new Map(errors.map((one) => [one.parameter, one])).values()];
}

export const printable = (name: string): string => (/^[A-Za-z0-9_.[\]-]{1,64}$/.test(name) ? name : '(unprintable)');

/** Text that no stored text can equal, and that PostgreSQL would refuse: U+0000 and unpaired surrogates. */
export function unstorable(input: Readonly<Record<string, unknown>>): ParameterError[] {
  return Object.entries(input).flatMap(([parameter, value]): ParameterError[] =>
    typeof value === 'string' && (value.includes('\u0000') || !value.isWellFormed())
      ? [{ parameter: printable(parameter), code: 'invalid_parameter' }]
      : [],
  );
}
