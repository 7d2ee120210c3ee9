import type { z } from 'zod';
import { Failure, type ParameterError } from '../core/failures.ts';

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
  // A value can break several rules of its schema; that is one error of one parameter. What is not known comes first, as
  // where a surface has found it itself.
  const once = [...new Map(errors.map((one) => [one.parameter, one])).values()];
  return [
    ...once.filter(({ code }) => code === 'unsupported_parameter'),
    ...once.filter(({ code }) => code !== 'unsupported_parameter'),
  ];
}

/** The refusal of an input: the first error names it. */
export function refusalOf(errors: readonly ParameterError[]): Failure {
  const code = errors[0]?.code ?? 'invalid_parameter';
  return new Failure(code === 'missing' ? 'invalid_parameter' : code, { errors: errors.slice(0, 20) });
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
