/** A URI that one MCP operation reads. A read of the URI needs the authority and costs the quota of this operation. */
export interface ResourceDeclaration {
  /** URI template `gateway://…` with `{variables}` as in RFC 6570, level 1. */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: 'application/json' | 'text/markdown';
  readonly tool: string;
  /** Turns the URI's variables into the operation's input. Undefined: nothing exists at this URI. */
  input(variables: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> | undefined;
  /** The text of the resource. Without `text`, the resource is the operation's whole body as JSON. */
  text?(body: unknown): string;
  /** The variables of each URI in `resources/list`. Without `list`, clients see only the URI template. */
  list?(granted: Granted): readonly Readonly<Record<string, string>>[];
}

export interface Granted {
  readonly websites: readonly string[];
  readonly guides: readonly string[];
}

export const defineResource = (resource: ResourceDeclaration): ResourceDeclaration => resource;
