/** An MCP resource: an address that reads one operation, under the same authority and quota as a call of it. */
export interface Resource {
  /** gateway://… with `{variables}` as in RFC 6570, level 1. */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: 'application/json' | 'text/markdown';
  /** The operation that reads it. */
  readonly tool: string;
  /** The operation's input; `undefined` where no such address can exist. */
  input(variables: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> | undefined;
  /** The text of the resource where it is not the whole body in JSON. */
  text?(body: unknown): string;
  /** Variables of each concrete address that the list shows; where absent, only the template is shown. */
  list?(granted: Granted): readonly Readonly<Record<string, string>>[];
}

/** What a credential holds, as far as addresses are made of it. */
export interface Granted {
  readonly websites: readonly string[];
  readonly guides: readonly string[];
}

export const defineResource = (resource: Resource): Resource => resource;
