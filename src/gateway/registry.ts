import type { Authority } from '../core/authority.ts';
import { isRestricted } from '../core/authority.ts';
import { holds, type Requirement } from '../core/scopes.ts';
import type { OperationFacts, Tool } from '../core/tool.ts';

/** All operations, in the order of their names. */
export class Registry {
  readonly operations: readonly Tool[];
  /** The operations that are MCP tools too. The realtime operations are not MCP tools. */
  readonly tools: readonly Tool[];
  readonly #byName: ReadonlyMap<string, Tool>;

  constructor(operations: readonly Tool[]) {
    this.operations = [...operations].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.tools = this.operations.filter((one) => one.mcp);
    this.#byName = new Map(this.tools.map((tool) => [tool.name, tool]));
    if (this.#byName.size !== this.tools.length) throw new Error('two tools have the same name: rename one of them');
  }

  get(name: string): Tool | undefined {
    return this.#byName.get(name);
  }

  /** Returns the tools that a credential may call. For this credential, other tools do not exist. */
  callableBy(authority: Authority): Tool[] {
    return this.tools.filter((tool) => mayCall(tool, authority));
  }
}

/** True when the authority holds everything that the operation always requires. Single parameters can require more. */
export const mayCall = (tool: Tool, authority: Authority): boolean =>
  holds(authority, tool.required) &&
  !(tool.restrictions === 'refused' && isRestricted(authority)) &&
  !(tool.consent === 'refused' && authority.consentId !== null);

/** Returns the part of a requirement that the authority does not hold. */
export const lacking = (authority: Authority, { scopes, dataAccess }: Requirement): Requirement => ({
  scopes: scopes.filter((scope) => !authority.scopes.has(scope)),
  dataAccess: dataAccess.filter((flag) => !authority.dataAccess.has(flag)),
});

export const factsOf = (tool: Tool): OperationFacts => ({
  operation: tool.name,
  method: tool.method,
  path: tool.path,
  kind: tool.effect,
  scopes: [...tool.required.scopes],
  data_access: [...tool.required.dataAccess],
  unrestricted_required: tool.restrictions === 'refused',
  author_required: tool.author,
});
