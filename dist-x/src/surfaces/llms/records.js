import { shownOutput } from '../../gateway/examples.js';
import { outline } from './schema-text.js';
/** Members of the smallest object that gets a name. For a smaller one, a reference would be longer. */
const MEMBERS_MIN = 4;
/** Finds the named objects that several operations return, so that each object is described only once. */
export function recordsOf(registry) {
    const found = new Map();
    for (const tool of registry.operations)
        collect(shownOutput(tool), tool.name, found);
    const nodes = new Map([...found].flatMap(([name, { node, tools }]) => (tools.size > 1 ? [[name, node]] : [])));
    const nameOf = ({ name, properties }) => properties && name !== undefined && nodes.has(name) ? name : undefined;
    const text = [...nodes]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, node]) => {
        // A description must not refer to its own object by name.
        const inside = (other) => (other === node ? undefined : nameOf(other));
        return [`### ${name}`, '', ...outline(node, inside)].join('\n');
    })
        .join('\n\n');
    return { nameOf, text };
}
function collect(node, tool, found) {
    const { name, properties = {}, items } = node;
    if (name !== undefined && Object.keys(properties).length >= MEMBERS_MIN) {
        const entry = found.get(name) ?? { node, tools: new Set() };
        entry.tools.add(tool);
        found.set(name, entry);
    }
    const parts = [...Object.values(properties), ...(node.anyOf ?? node.oneOf ?? []), ...(items ? [items] : [])];
    for (const part of parts)
        collect(part, tool, found);
}
//# sourceMappingURL=records.js.map