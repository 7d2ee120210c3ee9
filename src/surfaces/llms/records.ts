import type { Registry } from '../../gateway/registry.ts';
import { type NameOf, type Node, outline, outputOf } from './schema-text.ts';

/** Smallest number of members of a named shape. Smaller shapes are spelled out, because a reference is longer. */
const MEMBERS_MIN = 4;

interface Found {
  readonly node: Node;
  /** Names of the members that hold this shape. `one` is for a single object, and `many` is for a list. */
  readonly one: string[];
  readonly many: string[];
  readonly tools: Set<string>;
}

export interface Records {
  readonly nameOf: NameOf;
  /** The members of every named shape, under a heading of level three for each shape. */
  readonly text: string;
}

/** Gives a name to each object shape that several operations return, so that each shape is described once. */
export function recordsOf(registry: Registry): Records {
  const found = new Map<string, Found>();
  for (const tool of registry.operations) collect(outputOf(tool), tool.name, [], found);
  const names = new Map<string, string>();
  const nodes = new Map<string, Node>();
  for (const [key, { node, one, many, tools }] of found) {
    const name = capitalized(one[0] ?? (many[0] ?? '').replace(/s$/, ''));
    // If another shape already has this name, the shape gets no name and is spelled out.
    if (tools.size < 2 || nodes.has(name)) continue;
    names.set(key, name);
    nodes.set(name, node);
  }
  const nameOf: NameOf = (node) => (node.properties ? names.get(keyOf(node)) : undefined);
  const text = [...nodes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, node]) => {
      // Spell out the shape itself. Shapes inside it can appear by name.
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

/** Identifies a shape without its description, because members with the same shape have different descriptions. */
const keyOf = ({ description: _, ...shape }: Node): string => JSON.stringify(shape);

const capitalized = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
