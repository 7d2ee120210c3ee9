import type { Node } from '../../../core/json-schema.ts';
import type { Tool } from '../../../core/tool.ts';
import { idExample, idNumber } from '../../../gateway/examples.ts';
import { answerNode } from './fields.ts';
import { VALUES } from './values.ts';

/** The time in an example when the table of values has no time for the member. */
const MOMENT = '2026-11-20T09:14:05.000Z';

/**
 * An example of an answer, with all grants. The shape comes from the schema of the operation. The values come from a
 * table. A list has one item.
 */
export function exampleAnswer(tool: Tool): unknown {
  const { cursor } = tool.paged ?? {};
  const next = cursor && 'prefix' in cursor ? idExample(cursor) : 'eyJ2IjoxfQ.c2lnbmF0dXJl';
  return exampleOf(answerNode(tool), [tool.name], next);
}

/** `path` holds the name of the operation and the names of the members down to the value. `next` is a cursor. */
function exampleOf(node: Node, path: readonly string[], next: string): unknown {
  const known = knownValue(path);
  if (known !== undefined) return known;
  if (path.at(-1) === 'next_cursor') return next;
  if (node.const !== undefined) return node.const;
  if (node.enum) return node.enum[0];
  const [first] = node.anyOf ?? node.oneOf ?? [];
  if (first) return exampleOf(first, path, next);
  const type = typeof node.type === 'object' ? node.type.find((one) => one !== 'null') : node.type;
  if (type === 'object') {
    const members = Object.entries(node.properties ?? {});
    return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(member, [...path, name], next)]));
  }
  if (type === 'array') {
    return (
      node.prefixItems?.map((one) => exampleOf(one, path, next)) ??
      (node.items ? [exampleOf(node.items, path, next)] : [])
    );
  }
  if (type === 'boolean') return true;
  // Integers whose names end in _at are Unix milliseconds. The table has the only exception.
  if (type === 'integer' && path.at(-1)?.endsWith('_at')) return Date.parse(MOMENT);
  if (type === 'integer' || type === 'number') return Math.max(node.minimum ?? 0, 1);
  const id = idOf(node);
  if (id === undefined) throw new Error(`values.ts has no value for ${path.join('.')}`);
  return id;
}

/** Finds the value of the longest key that is an end of the path. */
function knownValue(path: readonly string[]): unknown {
  const key = path.map((_, i) => path.slice(i).join('.')).find((one) => one in VALUES);
  return key === undefined ? undefined : VALUES[key];
}

/** An example of an id or a time, made from the pattern and the format of the schema. */
function idOf({ pattern = '', format }: Node): string | undefined {
  if (format === 'date-time') return MOMENT;
  if (format === 'date') return '2026-11-20';
  const [, hexPrefix, length] = /^\^([a-z]+_)?\[a-f0-9\]\{(?:\d+,)?(\d+)\}\$$/.exec(pattern) ?? [];
  if (length !== undefined) return `${hexPrefix ?? ''}${'0a1b2c3d'.repeat(8).slice(0, Number(length))}`;
  const [, prefix] = /^\^([a-z]+)_\[0-9\]/.exec(pattern) ?? [];
  if (prefix === undefined) return undefined;
  return prefix === 'web' ? 'web_1_1' : `${prefix}_1_1_${idNumber(prefix)}`;
}
