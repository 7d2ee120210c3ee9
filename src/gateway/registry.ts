import type { Authority } from '../core/authority.ts';
import { isRestricted, meets } from '../core/authority.ts';
import { isAlternative } from '../core/conditions.ts';
import { Failure } from '../core/failures.ts';
import { holds, type Requirement } from '../core/scopes.ts';
import type { OperationSummary, Tool } from '../core/tool.ts';

export class Registry {
  /** Every operation, sorted by name. */
  readonly all: readonly Tool[];
  /** Every operation that the public documents describe: all but those by policy. */
  readonly operations: readonly Tool[];
  /** The operations that exist only for credentials whose policy names them. */
  readonly byPolicy: readonly Tool[];
  /** Of these operations, every one except the realtime operations. */
  readonly tools: readonly Tool[];
  readonly #byName: ReadonlyMap<string, Tool>;

  constructor(operations: readonly Tool[]) {
    this.all = [...operations].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.operations = this.all.filter((one) => !one.byPolicy);
    this.byPolicy = this.all.filter((one) => one.byPolicy);
    this.tools = this.operations.filter((one) => one.mcp);
    const named = [...this.tools, ...this.byPolicy].flatMap((tool) =>
      [tool.name, ...tool.aliases].map((name) => [name, tool] as const),
    );
    this.#byName = new Map(named);
    if (this.#byName.size !== named.length)
      throw new Error('two tools have the same name or alias: rename one of them');
  }

  /** The tool with this name or alias. */
  get(name: string): Tool | undefined {
    return this.#byName.get(name);
  }

  /** The operations that exist for a credential, sorted by name. */
  presentFor(authority: Authority): readonly Tool[] {
    return authority.write.size === 0 ? this.operations : this.all.filter((tool) => isPresent(tool, authority));
  }

  /** The tools that a credential may call. It sees no other tool. */
  callableBy(authority: Authority): Tool[] {
    return this.presentFor(authority).filter((tool) => tool.mcp && mayCall(tool, authority));
  }
}

/**
 * True if the authority is enough to call the operation with some parameters. Of alternatives, such as kinds of ids,
 * one is enough. Other parameters can still need more.
 */
export function mayCall(tool: Tool, authority: Authority): boolean {
  const alternatives = tool.when.filter(isAlternative);
  return mayEnter(tool, authority) && (alternatives.length === 0 || alternatives.some((one) => meets(authority, one)));
}

/** False if the operation is absent for the credential, as if the gateway had no such operation. */
export const isPresent = (tool: Tool, authority: Authority): boolean =>
  !tool.byPolicy || authority.write.has(tool.name);

export const mayEnter = (tool: Tool, authority: Authority): boolean =>
  isPresent(tool, authority) &&
  !authority.switchedOff.has(tool.name) &&
  holds(authority, tool.required) &&
  !(tool.restrictions === 'refused' && isRestricted(authority)) &&
  !(tool.consent === 'refused' && authority.consentId !== null);

/** The refusal of an operation that the owner has switched off. No grant helps, so it names none. */
export const switchedOff = (): Failure => new Failure('not_permitted', { detail: SWITCHED_OFF });

const SWITCHED_OFF = 'The owner has switched this operation off for the app. Only the owner can switch it on again.';

export const lacking = (authority: Authority, { scopes, dataAccess }: Requirement): Requirement => ({
  scopes: scopes.filter((scope) => !authority.scopes.has(scope)),
  dataAccess: dataAccess.filter((flag) => !authority.dataAccess.has(flag)),
});

export const summaryOf = (tool: Tool, { approve }: Pick<Authority, 'approve'>): OperationSummary => ({
  operation: tool.name,
  method: tool.method,
  path: tool.path,
  kind: tool.effect,
  scopes: [...tool.required.scopes],
  data_access: [...tool.required.dataAccess],
  unrestricted_required: tool.restrictions === 'refused',
  author_required: tool.author,
  ...(approve.has(tool.name) && { approval_required: true as const }),
});
