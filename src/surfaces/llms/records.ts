import type { Node } from '../../core/json-schema.ts';
import type { Registry } from '../../gateway/registry.ts';
import { type NameOf, outline, outputOf } from './schema-text.ts';

/**
 * How many members an object shape must have to get a name. A smaller shape is written out in place, because a
 * reference would be longer.
 */
const MEMBERS_MIN = 4;

interface Found {
  readonly node: Node;
  readonly one: string[];
  readonly many: string[];
  readonly tools: Set<string>;
}

export interface Records {
  readonly nameOf: NameOf;
  readonly text: string;
}

/** Gives a name to each object shape that several operations return, so that each shape is described only once. */
export function recordsOf(registry: Registry): Records {
  const found = new Map<string, Found>();
  for (const tool of registry.operations) collect(outputOf(tool), tool.name, [], found);
  const names = new Map<string, string>();
  const nodes = new Map<string, Node>();
  for (const [key, { node, one, many, tools }] of found) {
    const name = capitalized(one[0] ?? (many[0] ?? '').replace(/s$/, ''));
    // If another object shape already has this name, this shape gets no name and is written out in place.
    if (tools.size < 2 || nodes.has(name)) continue;
    names.set(key, name);
    nodes.set(name, node);
  }
  const nameOf: NameOf = (node) => (node.properties ? names.get(keyOf(node)) : undefined);
  const text = [...nodes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, node]) => {
      // The description of an object must not refer to the object itself by name.
      const inside: NameOf = (other) => (other === node ? undefined : nameOf(other));
      return [`### ${name}`, '', ...outline(node, inside)].join('\n');
    })
    .join('\n\n');
  return { nameOf, text };
}

function collect(node: Node, tool: string, path: readonly string[], found: Map<string, Found>): void {
  const member = path.at(-1);
  if (node.properties && member !== undefined && Object.keys(node.properties).length >= MEMBERS_MIN) {
    const key = keyOf(node);
    const entry = found.get(key) ?? { node, one: [], many: [], tools: new Set<string>() };
    const list = path.at(-2) === '*';
    (list ? entry.many : entry.one).push(member);
    entry.tools.add(tool);
    found.set(key, entry);
  }
  for (const [name, property] of Object.entries(node.properties ?? {})) collect(property, tool, [name], found);
  for (const one of node.anyOf ?? node.oneOf ?? []) collect(one, tool, path, found);
  if (node.items && member !== undefined) collect(node.items, tool, ['*', member], found);
}

/** Members with the same shape can have different descriptions, so the key leaves out the description. */
const keyOf = ({ description: _, ...shape }: Node): string => JSON.stringify(shape);

const capitalized = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
