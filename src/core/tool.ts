import { z } from 'zod';
import type { Authority } from './authority.ts';
import type { GatewayFacts } from './facts.ts';
import type { FailureCode } from './failures.ts';
import { type IdKind, idKind, WebsiteId } from './ids.ts';
import type { FileBytes, Reads } from './reads.ts';
import type { DataAccess, Requirement, Scope } from './scopes.ts';
import { ServiceText, textsOf } from './texts.ts';
import type { Perform, Write, Writes } from './writes.ts';

export type { GatewayFacts, OperationFacts } from './facts.ts';

type Shape = Readonly<Record<string, z.ZodType>>;
type Input<S extends Shape> = z.output<z.ZodObject<S>>;
type Cursor = IdKind | z.ZodString;
type PageInput<P> = P extends undefined ? unknown : { limit: number; cursor?: string | undefined };

/** Groups of operations in the documentation, each with its description. */
export const TAGS = {
  Discovery: 'Who the credential is, and what the credential may do.',
  Conversations: 'Stored conversations and their messages.',
  Visitors: 'Stored visitors, their conversations and notes.',
  Contacts: 'Stored contacts, their visitors and notes.',
  Files: 'Attached files: metadata, and content in chunks. Each chunk has a SHA-256.',
  'Directory and catalogues': 'Operators, teams, channels, dispositions, saved responses, saved links and offers.',
  Reporting: 'Figures about conversations in which AI took part.',
  'AI features': 'Metadata of AI features, and language detection.',
  Configuration: 'Configuration metadata, the JSON Schema of this metadata, and previews of changes.',
  Events: 'Subscriptions to changes. A client pulls receipts of the changes from a subscription.',
  Realtime: 'Sessions of the WebSocket that streams receipts of changes. MCP and A2A do not have these operations.',
} as const;
export type Tag = keyof typeof TAGS;

/** Additional authority that the parameter `given` requires. With `is`: only when the parameter has that value. */
export interface Condition extends Requirement {
  readonly given: string;
  readonly is?: boolean;
}

export interface ReadContext<I> {
  readonly input: I;
  readonly authority: Authority;
  readonly read: Reads;
  readonly gateway: GatewayFacts;
}

export interface WriteContext<I, W> {
  readonly input: I;
  readonly authority: Authority;
  readonly write: Writes;
  readonly perform: Perform<W>;
}

/** The context that the corridor gives every handler. `write` is `undefined` for reads, `perform` without `performs`. */
export interface CallContext<I> extends ReadContext<I> {
  readonly write: Writes | undefined;
  readonly perform: Perform<Write> | undefined;
}

/** A request for raw bytes. `range` holds the numbers of the Range header, both inclusive. Absent: the first chunk. */
export interface BytesRequest {
  readonly range?: { readonly first: number; readonly last: number | undefined } | { readonly suffix: number };
  readonly ifMatch?: string;
}

interface Declaration<P extends Shape, Q extends Shape> {
  /** Public name. The file has the same name in kebab case. */
  readonly name: string;
  readonly title: string;
  /** One or two sentences for an agent that chooses between tools. */
  readonly summary: string;
  readonly tag: Tag;
  readonly scopes: readonly Scope[];
  readonly dataAccess?: readonly DataAccess[];
  /**
   * refused: restricted credentials may not call it. applied: rows outside the restrictions are invisible. none:
   * restrictions have no effect on it.
   */
  readonly restrictions: 'refused' | 'applied' | 'none';
  /** refused: a token that comes from a person's consent cannot call it. */
  readonly consent?: 'refused';
  /** false: it is not an MCP tool, and capabilities do not list it. */
  readonly mcp?: false;
  /** The request needs a header Origin with an origin that is registered on the credential. */
  readonly origin?: 'required';
  readonly when?: readonly Condition[];
  /** Quota units of one call. Default: 1. */
  readonly cost?: number;
  readonly input: { readonly path?: P; readonly query?: Q };
  /** Failure codes in addition to the codes of every operation (400, 401, 404, 429, 500, 503). */
  readonly errors?: readonly FailureCode[];
}

/** What a REST response says about its body in headers. */
interface Described<B> {
  /** Revision of the resource in the body. It becomes the entity tag that If-Match accepts. */
  readonly revision?: (body: B) => number;
}

/**
 * One read operation, declared once. REST route, validation, OpenAPI, MCP tool, capabilities and documentation are
 * derived from the declaration. `handle` holds only the domain. The corridor checks authority, website and quota.
 */
export interface ReadDeclaration<P extends Shape, Q extends Shape, C extends PageRule | undefined, B>
  extends Declaration<P, Q>,
    Described<B> {
  readonly effect: 'read';
  readonly rest: `GET /api/v1/${string}`;
  readonly page?: C;
  /** The realtime surface answers a request that upgrades, with status 101. `handle` does not run for it. */
  readonly upgrade?: 'websocket';
  readonly output: z.ZodType<unknown, B>;
  handle(context: ReadContext<Input<P> & Input<Q> & PageInput<C>>): Promise<B>;
  /** Answers `Accept: application/octet-stream`, over REST only. Absent: the operation returns JSON only. */
  readonly bytes?: (context: ReadContext<Input<P> & Input<Q>>, request: BytesRequest) => Promise<FileBytes>;
}

/**
 * A reviewed write: its effect happens once for each Idempotency-Key. `handle` asks `perform` or `write` for one command
 * and builds the body from the result. `handle` runs again for each replay, and must then build the same body.
 */
export interface WriteDeclaration<P extends Shape, Q extends Shape, D extends Shape, B, W>
  extends Declaration<P, Q>,
    Described<B> {
  readonly effect: 'write';
  /** The write of `perform`. Absent: the operation writes to the gateway's own records, through `write`. */
  readonly performs?: W;
  readonly rest: `${'POST' | 'PATCH' | 'DELETE'} /api/v1/${string}`;
  readonly input: { readonly path?: P; readonly query?: Q; readonly body?: D };
  /** required: the write is made in the name of the native author that is mapped to the credential. */
  readonly author: 'required' | 'none';
  /** optional: without a key, every call is a separate command. none: the operation accepts no key. */
  readonly idempotency: 'required' | 'optional' | 'none';
  /** The caller must name the revision that it changes: header If-Match, or argument if_match over MCP. */
  readonly ifMatch?: 'required';
  /** REST status of success. Default: 200. With 204 the response has no body, even if `handle` returns one. */
  readonly status?: 201 | 204;
  /** Path of the created resource. */
  readonly location?: (body: B) => string;
  /** Event types that the change records in the journal. */
  readonly emits: readonly string[];
  readonly output: z.ZodType<unknown, B>;
  handle(context: WriteContext<Input<P> & Input<Q> & Input<D>, W>): Promise<B>;
}

export interface PageRule {
  readonly cursor: Cursor;
  readonly limit: number;
}

/** A declaration with its types erased, and the values that are derived from it once, at load. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly method: string;
  readonly path: string;
  readonly effect: 'read' | 'write';
  readonly performs: Write | undefined;
  readonly tag: Tag;
  readonly required: Requirement;
  readonly restrictions: 'refused' | 'applied' | 'none';
  readonly consent: 'refused' | 'none';
  readonly mcp: boolean;
  readonly origin: boolean;
  readonly author: boolean;
  readonly when: readonly Condition[];
  readonly cost: number;
  readonly parameters: readonly Parameter[];
  readonly idempotency: 'required' | 'optional' | 'none';
  readonly ifMatch: boolean;
  readonly status: 101 | 200 | 201 | 204;
  readonly emits: readonly string[];
  /** Whether a request has a JSON body. The body may be an empty object. */
  readonly body: boolean;
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  readonly errors: readonly FailureCode[];
  /** JSON pointers to the texts that outsiders write, derived from `output`. `*` stands for any index. */
  readonly untrusted: readonly string[];
  readonly paged: PageRule | undefined;
  readonly revision: ((body: unknown) => number) | undefined;
  readonly location: ((body: unknown) => string) | undefined;
  handle(context: CallContext<unknown>): Promise<unknown>;
  readonly bytes: ((context: ReadContext<unknown>, request: BytesRequest) => Promise<FileBytes>) | undefined;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'body';
  readonly schema: z.ZodType;
  readonly required: boolean;
  /** How the surface converts the text of a URL to the value. */
  readonly type: 'string' | 'integer' | 'boolean';
  readonly id: IdKind | undefined;
}

export function defineTool<P extends Shape, Q extends Shape, C extends PageRule | undefined, B>(
  declaration: ReadDeclaration<P, Q, C, B>,
): Tool;
export function defineTool<
  P extends Shape,
  Q extends Shape,
  D extends Shape,
  B,
  W extends Write | undefined = undefined,
>(declaration: WriteDeclaration<P, Q, D, B, W>): Tool;
export function defineTool<P extends Shape, Q extends Shape, D extends Shape, C extends PageRule | undefined, B>(
  declaration: ReadDeclaration<P, Q, C, B> | WriteDeclaration<P, Q, D, B, Write | undefined>,
): Tool {
  const write = declaration.effect === 'write' ? declaration : undefined;
  const read = declaration.effect === 'read' ? declaration : undefined;
  const { name, title, summary, effect, tag, restrictions, output } = declaration;
  const [method = '', path = ''] = declaration.rest.split(' ');
  const page = read?.page;
  const places: readonly ['path' | 'query' | 'body', Shape][] = [
    ['path', declaration.input.path ?? {}],
    ['query', { ...declaration.input.query, ...(page ? pageParameters(page) : {}) }],
    ['body', write?.input.body ?? {}],
  ];
  return {
    name,
    title,
    summary,
    method,
    path,
    effect,
    performs: write?.performs,
    tag,
    required: { scopes: declaration.scopes, dataAccess: declaration.dataAccess ?? [] },
    restrictions,
    consent: declaration.consent ?? 'none',
    mcp: declaration.mcp ?? true,
    origin: declaration.origin === 'required',
    author: write?.author === 'required',
    when: declaration.when ?? [],
    cost: declaration.cost ?? 1,
    idempotency: write?.idempotency ?? 'none',
    ifMatch: write?.ifMatch === 'required',
    status: read?.upgrade ? 101 : (write?.status ?? 200),
    emits: write?.emits ?? [],
    body: write?.input.body !== undefined,
    parameters: places.flatMap(([place, shape]) =>
      Object.entries<z.ZodType>(shape).map(([parameterName, schema]) => parameter(parameterName, place, schema)),
    ),
    input: z.strictObject(Object.assign({}, ...places.map(([, shape]) => shape))),
    output,
    errors: declaration.errors ?? [],
    untrusted: textsOf(output).flatMap(({ pointer, writer }) => (writer === 'outsiders' ? [pointer] : [])),
    paged: page,
    // The casts are sound: both functions receive only what `handle` has returned.
    revision: declaration.revision as Tool['revision'],
    location: write?.location as Tool['location'],
    // The cast is sound: the corridor passes input that `input` has accepted, and the context of this effect.
    handle: declaration.handle as Tool['handle'],
    bytes: read?.bytes as Tool['bytes'], // as above
  };
}

const pageParameters = (page: PageRule): Shape => ({
  limit: z
    .int()
    .min(1)
    .max(100)
    .default(page.limit)
    .describe(
      `Records per page. The range is 1 to 100, and the default is ${page.limit}. A page can hold fewer records.`,
    ),
  cursor: ('schema' in page.cursor ? page.cursor.schema : page.cursor)
    .optional()
    .describe(
      'The last next_cursor. To get the next page, send the next_cursor of the previous page. Absent: the first page.',
    ),
});

function parameter(name: string, place: Parameter['in'], schema: z.ZodType): Parameter {
  const core = unwrap(schema);
  return {
    name,
    in: place,
    schema,
    required: !schema.safeParse(undefined).success,
    type: core instanceof z.ZodNumber ? 'integer' : core instanceof z.ZodBoolean ? 'boolean' : 'string',
    id: name === 'cursor' ? undefined : idKind(core),
  };
}

function unwrap(schema: z.ZodType): z.ZodType {
  // The cast is needed because zod types the inner schema by its core interface only.
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
    ? unwrap(schema.unwrap() as z.ZodType)
    : schema;
}

/** `website_id` of a list or catalogue operation. */
export const inWebsite = { website_id: WebsiteId };
/** `website_id` of an operation that is addressed by the id of a resource. */
export const ofWebsite = {
  website_id: WebsiteId.optional().describe(
    'Website of the record. Absent: the website that the id of the record names. Any other website fails with not_found.',
  ),
};

/** The `{ data: … }` wrapper of a REST body. */
export const data = <S extends Shape>(shape: S) =>
  z.strictObject({ data: z.strictObject(shape).describe('Object that holds the members of the answer.') });

export const NextCursor = ServiceText.nullable().describe(
  'Cursor of the next page. Null if this page is the last page.',
);

export const coverage = <T extends string>(value: T) =>
  z.literal(value).describe('Name of the data that this operation reads. The operation always returns this value.');

/** The rows of one page. */
export const listOf = <S extends z.ZodType>(schema: S) => z.array(schema).max(100);
