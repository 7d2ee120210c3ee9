import { pathsOf } from '../../core/paths.ts';
import type { Tool } from '../../core/tool.ts';
import type { Registry } from '../../gateway/registry.ts';

export interface Match {
  readonly methods: ReadonlyMap<string, Tool>;
  readonly path: Readonly<Record<string, string>>;
}

interface PathNode {
  readonly fixed: Map<string, PathNode>;
  variable: { readonly name: string; readonly node: PathNode } | undefined;
  readonly methods: Map<string, Tool>;
}

const node = (): PathNode => ({ fixed: new Map(), variable: undefined, methods: new Map() });

/**
 * Finds the tools of a path. The raw text is compared segment by segment, without decoding. So a path with an escape,
 * other letter case, an empty segment or a trailing slash matches nothing (check HT-03).
 */
export function routesOf(registry: Registry): (path: string) => Match | undefined {
  const root = node();
  for (const [path, tool] of registry.all.flatMap((one) => pathsOf(one).map((path) => [path, one] as const))) {
    let at = root;
    for (const segment of path.slice(1).split('/')) {
      const name = /^\{(\w+)\}$/.exec(segment)?.[1];
      if (name === undefined) {
        const next = at.fixed.get(segment) ?? node();
        at.fixed.set(segment, next);
        at = next;
      } else {
        at.variable ??= { name, node: node() };
        if (at.variable.name !== name)
          throw new Error(`${path}: {${at.variable.name}} and {${name}} stand for the same segment`);
        at = at.variable.node;
      }
    }
    if (at.methods.has(tool.method)) throw new Error(`two tools answer ${tool.method} ${path}`);
    at.methods.set(tool.method, tool);
  }
  return (path) => {
    // Node also accepts targets without a slash at the start, such as `GET *api/v1/…` and `GET ftp://host/…`.
    if (!path.startsWith('/')) return undefined;
    const values: Record<string, string> = {};
    let at: PathNode | undefined = root;
    for (const segment of path.slice(1).split('/')) {
      const fixed: PathNode | undefined = at.fixed.get(segment);
      if (fixed) at = fixed;
      else if (at.variable && /^[A-Za-z0-9_-]+$/.test(segment)) {
        values[at.variable.name] = segment;
        at = at.variable.node;
      } else return undefined;
    }
    return at.methods.size > 0 ? { methods: at.methods, path: values } : undefined;
  };
}
