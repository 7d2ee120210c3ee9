/** An MCP resource: a URI that one operation reads. The read needs the authority and the quota of this operation. */
export interface Resource {
  /** URI template of the resource: gateway://… with `{variables}` as in RFC 6570, level 1. */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: 'application/json' | 'text/markdown';
  /** Name of the operation that reads the resource. */
  readonly tool: string;
  /** Turns the variables of a URI into the input of the operation. `undefined` means that the URI has no resource. */
  input(variables: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> | undefined;
  /** Returns the text of the resource. If `text` is absent, the resource is the whole body as JSON. */
  text?(body: unknown): string;
  /** Returns the variables of each concrete URI in the list of resources. If absent, the list has only the template. */
  list?(granted: Granted): readonly Readonly<Record<string, string>>[];
}

/** The parts of a credential's authority that the gateway needs to build resource URIs. */
export interface Granted {
  readonly websites: readonly string[];
  readonly guides: readonly string[];
}

export const defineResource = (resource: Resource): Resource => resource;
