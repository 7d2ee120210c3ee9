/**
 * An MCP resource: a URI that reads through one operation, with the authority and quota of a call of that operation.
 */
export interface Resource {
  /** gateway://… with `{variables}` as in RFC 6570, level 1. */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: 'application/json' | 'text/markdown';
  /** Name of the operation that reads the resource. */
  readonly tool: string;
  /** Turns the variables of a URI into the operation's input. `undefined`: no resource can have this URI. */
  input(variables: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> | undefined;
  /** The text of the resource. Absent: the whole body as JSON. */
  text?(body: unknown): string;
  /** The variables of each concrete URI that the list shows. Absent: the list shows only the template. */
  list?(granted: Granted): readonly Readonly<Record<string, string>>[];
}

/** The part of a credential's authority that resource URIs are built from. */
export interface Granted {
  readonly websites: readonly string[];
  readonly guides: readonly string[];
}

export const defineResource = (resource: Resource): Resource => resource;
