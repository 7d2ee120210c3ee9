/** A URI that one MCP operation reads. A read of the URI needs the authority and costs the quota of this operation. */
export interface Resource {
  /** URI template `gateway://…` with `{variables}` as in RFC 6570, level 1. */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: 'application/json' | 'text/markdown';
  readonly tool: string;
  /** Turns the variables of a URI into the input of the operation. `undefined`: nothing exists at this URI. */
  input(variables: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> | undefined;
  /** Returns the text of the resource. If `text` is absent, the resource is the whole body of the operation as JSON. */
  text?(body: unknown): string;
  /**
   * Returns the variables of each URI that `resources/list` shows. If `list` is absent, clients see only the URI
   * template.
   */
  list?(granted: Granted): readonly Readonly<Record<string, string>>[];
}

export interface Granted {
  readonly websites: readonly string[];
  readonly guides: readonly string[];
}

export const defineResource = (resource: Resource): Resource => resource;
