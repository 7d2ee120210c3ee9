import { namesText } from '../../core/accepted-values.ts';
import { decodedForm } from '../../core/decoded.ts';
import type { ParameterError } from '../../core/failures.ts';
import type { Parameter, Tool } from '../../core/tool.ts';
import { printable } from '../../gateway/input-errors.ts';

export interface RawInput {
  readonly input: Record<string, unknown>;
  readonly problems: ParameterError[];
}

/**
 * Converts the raw query string to JSON types. A repeated, unknown, unnamed or badly encoded parameter is a problem,
 * because the gateway does not guess. Express's parser would make arrays and objects of them.
 */
export function readInput(tool: Tool, path: Readonly<Record<string, string>>, query: string): RawInput {
  const input: Record<string, unknown> = { ...path };
  const problems: ParameterError[] = [];
  const seen = new Set<string>();
  for (const pair of query === '' ? [] : query.split('&')) {
    const cut = pair.indexOf('=');
    const name = decodedForm(cut === -1 ? pair : pair.slice(0, cut));
    const value = decodedForm(cut === -1 ? '' : pair.slice(cut + 1));
    const parameter = tool.parameters.find((one) => one.in === 'query' && one.name === name);
    if (name === undefined || !parameter) {
      problems.push({
        parameter: printable(name ?? ''),
        code: 'unsupported_parameter',
        expected: names(tool, 'query'),
      });
    } else if (seen.has(parameter.name)) {
      problems.push({ parameter: parameter.name, code: 'duplicate_parameter', expected: 'the parameter once' });
    } else {
      seen.add(parameter.name);
      // A value that cannot be decoded becomes a text that every schema refuses, so that the error names the parameter.
      input[parameter.name] = value === undefined ? '\u0000' : typed(parameter, value);
    }
  }
  return { input, problems };
}

export function addBody(tool: Tool, input: Record<string, unknown>, body: unknown): ParameterError[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return [{ pointer: '', code: 'invalid_request', expected: 'one JSON object' }];
  return Object.entries(body).flatMap(([name, value]): ParameterError[] => {
    const parameter = tool.parameters.find((one) => one.in === 'body' && one.name === name);
    if (!parameter) {
      return [{ pointer: `/${printable(name)}`, code: 'unsupported_parameter', expected: names(tool, 'body') }];
    }
    input[parameter.name] = value;
    return [];
  });
}

const names = (tool: Tool, place: Parameter['in']): string =>
  namesText(tool.parameters.filter((one) => one.in === place).map(({ name }) => name));

function typed(parameter: Parameter, value: string): string | number | boolean {
  // One spelling of a number: 1 to 16 digits, without a sign, a point, an exponent or a leading zero.
  if (parameter.type === 'integer') return /^(0|[1-9][0-9]{0,15})$/.test(value) ? Number(value) : value;
  if (parameter.type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value;
  return value;
}
