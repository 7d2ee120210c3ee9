import type { z } from 'zod';
import { Failure, type ParameterError } from '../core/failures.ts';
import type { Parameter } from '../core/tool.ts';

type Input = Readonly<Record<string, unknown>>;
type Path = readonly PropertyKey[];
/** Says where each member of an input belongs: path, query or body. A Tool has this shape. */
interface Located {
  readonly parameters: readonly Pick<Parameter, 'name' | 'in'>[];
}

/**
 * Lists the errors of an input, each with a name and a code. The list never repeats a value or a message of the zod
 * library. The caller chooses an unknown name, so the list repeats an unknown name only if it looks like a name.
 */
export function inputErrors(tool: Located | undefined, error: z.ZodError, input: Input): ParameterError[] {
  const errors = error.issues.flatMap((issue): ParameterError[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ ...locate(tool, [...issue.path, key]), code: 'unsupported_parameter' }));
    }
    const place = locate(tool, issue.path);
    // Only a body error has a pointer into the value. For a parameter, check whether the whole parameter is missing.
    const missing = valueAt(input, place.pointer === undefined ? issue.path.slice(0, 1) : issue.path) === undefined;
    const code = missing ? 'missing' : issue.path[0] === 'cursor' ? 'invalid_cursor' : 'invalid_parameter';
    return [{ ...place, code }];
  });
  // A value can break several rules of its schema. Report one error for each member. List unknown members first,
  // because a surface lists its own errors in this order.
  const once = [...new Map(errors.map((one) => [one.parameter ?? one.pointer, one])).values()];
  return [
    ...once.filter(({ code }) => code === 'unsupported_parameter'),
    ...once.filter(({ code }) => code !== 'unsupported_parameter'),
  ];
}

/** Returns the Failure for a wrong input. The first error decides the code of the Failure. */
export function refusalOf(errors: readonly ParameterError[]): Failure {
  const code = errors[0]?.code ?? 'invalid_parameter';
  return new Failure(code === 'missing' ? 'invalid_parameter' : code, { errors: errors.slice(0, 20) });
}

/** Names a parameter by its name, and a member of a JSON body by its JSON Pointer (RFC 6901). */
function locate(tool: Located | undefined, path: Path): Omit<ParameterError, 'code'> {
  const names = path.map((part) => printable(String(part)));
  const inBody = tool?.parameters.some((one) => one.in === 'body' && one.name === path[0]);
  return inBody ? { pointer: `/${names.join('/')}` } : { parameter: names[0] ?? '' };
}

function valueAt(input: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, part) =>
      typeof at === 'object' && at !== null ? Object.entries(at).find(([key]) => key === part)?.[1] : undefined,
    input,
  );
}

export const printable = (name: string): string => (/^[A-Za-z0-9_.[\]-]{1,64}$/.test(name) ? name : '(unprintable)');

/** Lists texts that PostgreSQL cannot store, as errors. Such a text contains U+0000 or an unpaired surrogate. */
export const unstorable = (tool: Located | undefined, input: Input): ParameterError[] =>
  badTexts(input, []).map((path) => ({ ...locate(tool, path), code: 'invalid_parameter' }));

function badTexts(value: unknown, path: Path): Path[] {
  if (typeof value === 'string') return value.includes('\u0000') || !value.isWellFormed() ? [path] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inside]) => badTexts(inside, [...path, key]));
}
