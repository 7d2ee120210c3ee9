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

/** Groups of operations in the documentation, and the description of each group. */
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

/**
 * Extra authority that a call needs when it sends the parameter `given`. If `is` is set, only this value of the
 * parameter needs the authority.
 */
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

/** The context of every handler. For a read, `write` is `undefined`. Without `performs`, `perform` is `undefined`. */
export interface CallContext<I> extends ReadContext<I> {
  readonly write: Writes | undefined;
  readonly perform: Perform<Write> | undefined;
}

/** A request for raw bytes. `range` has both inclusive numbers of a Range header, or is absent for the first chunk. */
export interface BytesRequest {
  readonly range?: { readonly first: number; readonly last: number | undefined } | { readonly suffix: number };
  readonly ifMatch?: string;
}

interface Declaration<P extends Shape, Q extends Shape> {
  /** Public name of the operation. The file has the same name in kebab case. */
  readonly name: string;
  readonly title: string;
  /** Summary of the operation in one or two sentences, for an agent that chooses between tools. */
  readonly summary: string;
  readonly tag: Tag;
  readonly scopes: readonly Scope[];
  readonly dataAccess?: readonly DataAccess[];
  /**
   * `refused`: restricted credentials cannot call the operation. `applied`: the operation hides rows outside the
   * restrictions. `none`: restrictions have no effect on the operation.
   */
  readonly restrictions: 'refused' | 'applied' | 'none';
  /** `refused` means that a token from a person's consent cannot call the operation. */
  readonly consent?: 'refused';
  /** `false` means that the operation is not an MCP tool and that the list of capabilities does not show it. */
  readonly mcp?: false;
  /** `required` means that the request needs an Origin header. The origin must be registered on the credential. */
  readonly origin?: 'required';
  readonly when?: readonly Condition[];
  /** Quota units that one call costs. Default: 1. */
  readonly cost?: number;
  readonly input: { readonly path?: P; readonly query?: Q };
  /**
   * Failure codes of this operation only. Every operation also has codes with status 400, 401, 404, 429, 500 or 503.
   */
  readonly errors?: readonly FailureCode[];
}

/** Functions that derive response headers from the body of a REST response. */
interface Described<B> {
  /** Returns the revision of the resource in the body. The revision becomes the entity tag that If-Match accepts. */
  readonly revision?: (body: B) => number;
}

/**
 * One read operation, declared once. The gateway derives the REST route, validation, OpenAPI, MCP tool, capabilities
 * and documentation from this declaration. `handle` contains only domain logic. The corridor checks authority, website
 * and quota.
 */
export interface ReadDeclaration<P extends Shape, Q extends Shape, C extends PageRule | undefined, B>
  extends Declaration<P, Q>,
    Described<B> {
  readonly effect: 'read';
  readonly rest: `GET /api/v1/${string}`;
  readonly page?: C;
  /** The realtime surface answers an upgrade request with status 101. `handle` does not run for such a request. */
  readonly upgrade?: 'websocket';
  readonly output: z.ZodType<unknown, B>;
  handle(context: ReadContext<Input<P> & Input<Q> & PageInput<C>>): Promise<B>;
  /** Answers `Accept: application/octet-stream`, over REST only. Without `bytes`, the operation returns only JSON. */
  readonly bytes?: (context: ReadContext<Input<P> & Input<Q>>, request: BytesRequest) => Promise<FileBytes>;
}

/**
 * A reviewed write. The effect of the write happens once for each Idempotency-Key. `handle` gives one command to
 * `perform` or `write` and builds the body from the result. `handle` runs again for each replay, and each replay must
 * build the same body.
 */
export interface WriteDeclaration<P extends Shape, Q extends Shape, D extends Shape, B, W>
  extends Declaration<P, Q>,
    Described<B> {
  readonly effect: 'write';
  /** The write that `perform` runs. Without `performs`, the operation changes the gateway's records through `write`. */
  readonly performs?: W;
  readonly rest: `${'POST' | 'PATCH' | 'DELETE'} /api/v1/${string}`;
  readonly input: { readonly path?: P; readonly query?: Q; readonly body?: D };
  /** `required` means that the credential needs a mapped native author. The write happens in that author's name. */
  readonly author: 'required' | 'none';
  /** `optional`: every call without an Idempotency-Key is a separate command. `none`: the operation accepts no key. */
  readonly idempotency: 'required' | 'optional' | 'none';
  /** The caller must name the revision that it changes: in header If-Match, or in argument if_match over MCP. */
  readonly ifMatch?: 'required';
  /** REST status of a success. Default: 200. A response with status 204 never has a body. */
  readonly status?: 201 | 204;
  /** Returns the path of the created resource. */
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

/** A tool declaration without its type parameters, with values that the gateway derives once, at load time. */
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
  /** True when a request has a JSON body. The body can be an empty object. */
  readonly body: boolean;
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  readonly errors: readonly FailureCode[];
  /** JSON pointers to the texts that outsiders write, derived from `output`. `*` stands for any array index. */
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
  /** Type of the value that the surface makes from the text in a URL. */
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
    untrusted: [
      ...new Set(textsOf(output).flatMap(({ pointer, writer }) => (writer === 'outsiders' ? [pointer] : []))),
    ],
    paged: page,
    // The casts are sound, because both functions receive only a body that `handle` has returned.
    revision: declaration.revision as Tool['revision'],
    location: write?.location as Tool['location'],
    // The cast is sound. The corridor passes only input that `input` has accepted, and the context that fits the
    // effect.
    handle: declaration.handle as Tool['handle'],
    bytes: read?.bytes as Tool['bytes'], // sound for the same reason as the cast of `handle`
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
  // The cast is needed, because zod gives the inner schema only the type of its core interface.
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
    ? unwrap(schema.unwrap() as z.ZodType)
    : schema;
}

/** The `website_id` parameter of an operation that lists records or a catalogue. */
export const inWebsite = { website_id: WebsiteId };
/** The optional `website_id` parameter of an operation that names a resource by its id. */
export const ofWebsite = {
  website_id: WebsiteId.optional().describe(
    'Website of the record. Absent: the website that the id of the record names. Any other website fails with not_found.',
  ),
};

/** Wraps the shape of a REST body in `{ data: … }`. */
export const data = <S extends Shape>(shape: S) =>
  z.strictObject({ data: z.strictObject(shape).describe('Object that holds the members of the answer.') });

export const NextCursor = ServiceText.nullable().describe(
  'Cursor of the next page. Null if this page is the last page.',
);

export const coverage = <T extends string>(value: T) =>
  z.literal(value).describe('Name of the data that this operation reads. The operation always returns this value.');

/** Schema of the rows of one page. */
export const listOf = <S extends z.ZodType>(schema: S) => z.array(schema).max(100);
