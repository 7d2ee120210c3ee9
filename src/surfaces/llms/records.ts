import type { Registry } from '../../gateway/registry.ts';
import { type NameOf, type Node, outline, outputOf } from './schema-text.ts';

/** A smaller object is shorter in its place than a reference to it. */
const MEMBERS_MIN = 4;

interface Found {
  readonly node: Node;
  /** What the members are called that hold it, those that hold one before those that hold a list. */
  readonly one: string[];
  readonly many: string[];
  readonly tools: Set<string>;
}

export interface Records {
  readonly nameOf: NameOf;
  /** Every named shape under a heading of the third level. */
  readonly text: string;
}

/** Shapes that several operations answer with, so that each of them is described once. */
export function recordsOf(registry: Registry): Records {
  const found = new Map<string, Found>();
  for (const tool of registry.operations) collect(outputOf(tool), tool.name, [], found);
  const names = new Map<string, string>();
  const nodes = new Map<string, Node>();
  for (const [key, { node, one, many, tools }] of found) {
    const name = capitalized(one[0] ?? (many[0] ?? '').replace(/s$/, ''));
    // A second shape of the same name stays where it is.
    if (tools.size < 2 || nodes.has(name)) continue;
    names.set(key, name);
    nodes.set(name, node);
  }
  const nameOf: NameOf = (node) => (node.properties ? names.get(keyOf(node)) : undefined);
  const text = [...nodes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, node]) => {
      // The shape itself is spelled out here; what it holds may have a name.
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

/** What a member says of itself differs from place to place; the shape does not. */
const keyOf = ({ description: _, ...shape }: Node): string => JSON.stringify(shape);

const capitalized = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
