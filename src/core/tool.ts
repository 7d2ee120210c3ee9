import { z } from 'zod';
import type { Authority, Demand } from './authority.ts';
import type { Condition } from './conditions.ts';
import { accepts } from './expected.ts';
import type { GatewayFacts } from './facts.ts';
import { type FailureCode, NEXT_CURSOR } from './failures.ts';
import { type IdKind, idKind, WebsiteId } from './ids.ts';
import type { Price } from './price.ts';
import type { FileBytes, Reads } from './reads.ts';
import type { DataAccess, Requirement, Scope } from './scopes.ts';
import type { Tag } from './tags.ts';
import { ServiceText, textsOf } from './texts.ts';
import type { Perform, Write, Writes } from './writes.ts';

export type { AccessFacts, GatewayFacts, OperationFacts } from './facts.ts';
export { TAGS, type Tag } from './tags.ts';

type Shape = Readonly<Record<string, z.ZodType>>;
type Input<S extends Shape> = z.output<z.ZodObject<S>>;
type Cursor = IdKind | z.ZodString;
type PageInput<P> = P extends undefined ? unknown : { limit: number; cursor?: string | undefined };

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

/** What a handler receives. `write` is undefined for reads, and `perform` is undefined without `performs`. */
export interface CallContext<I> extends ReadContext<I> {
  readonly write: Writes | undefined;
  readonly perform: Perform<Write> | undefined;
}

/** `range` gives the positions of the first and the last byte. Without `range`, the caller gets the first chunk. */
export interface BytesRequest {
  readonly range?: { readonly first: number; readonly last: number | undefined } | { readonly suffix: number };
  readonly ifMatch?: string;
}

interface Declaration<P extends Shape, Q extends Shape> {
  /** Public name of the operation. The file has this name in kebab case. */
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly tag: Tag;
  readonly scopes: readonly Scope[];
  readonly dataAccess?: readonly DataAccess[];
  /**
   * What happens when the credential is restricted. `refused`: the call fails. `applied`: the operation hides rows
   * outside the restrictions. `none`: the restrictions have no effect.
   */
  readonly restrictions: 'refused' | 'applied' | 'none';
  /** `refused` means that a token from a person's consent cannot call the operation. */
  readonly consent?: 'refused';
  /** `false` means that the operation is neither an MCP tool nor in the list of capabilities. */
  readonly mcp?: false;
  /** `required` means that the request needs an Origin header with an origin that is registered on the credential. */
  readonly origin?: 'required';
  readonly when?: readonly Condition[];
  /** What the caller needs for each part that an answer leaves out and names in `left_out`. */
  readonly parts?: Readonly<Record<string, Demand>>;
  /** Quota units that one call costs. The default is 1. */
  readonly cost?: number;
  /** The parameter that makes a call cost more than `cost`. */
  readonly costWith?: Price;
  readonly input: { readonly path?: P; readonly query?: Q };
  /**
   * Additional failure codes of this operation. Codes with status 400, 401, 404, 429, 500 or 503 apply to every
   * operation and are not listed.
   */
  readonly errors?: readonly FailureCode[];
}

interface Described<B> {
  /** Returns the revision of the resource. The entity tag shows this revision, and If-Match accepts the tag. */
  readonly revision?: (body: B) => number;
}

/**
 * A read operation. The gateway derives the REST route, validation, OpenAPI, the MCP tool, capabilities and
 * documentation from this declaration. `handle` has only domain logic, because the corridor checks authority, website
 * and quota.
 */
export interface ReadDeclaration<P extends Shape, Q extends Shape, C extends PageRule | undefined, B>
  extends Declaration<P, Q>,
    Described<B> {
  readonly effect: 'read';
  readonly rest: `GET /api/v1/${string}`;
  readonly page?: C;
  /** The realtime surface answers a WebSocket upgrade with status 101. `handle` runs only for other requests. */
  readonly upgrade?: 'websocket';
  readonly output: z.ZodType<unknown, B>;
  handle(context: ReadContext<Input<P> & Input<Q> & PageInput<C>>): Promise<B>;
  /** Answers REST requests for `application/octet-stream`. Without `bytes`, the operation returns only JSON. */
  readonly bytes?: (context: ReadContext<Input<P> & Input<Q>>, request: BytesRequest) => Promise<FileBytes>;
}

/**
 * A write operation. The write happens once for each Idempotency-Key. `handle` gives one command to `perform` or
 * `write` and makes the body from the result. When a caller repeats a request, `handle` runs again and must make an
 * equal body.
 */
export interface WriteDeclaration<P extends Shape, Q extends Shape, D extends Shape, B, W>
  extends Declaration<P, Q>,
    Described<B> {
  readonly effect: 'write';
  /** The write that `perform` runs. An operation without `performs` changes only the gateway's own records. */
  readonly performs?: W;
  readonly rest: `${'POST' | 'PATCH' | 'DELETE'} /api/v1/${string}`;
  readonly input: { readonly path?: P; readonly query?: Q; readonly body?: D };
  /** `required` means that the write happens in the name of an operator. The credential must name this operator. */
  readonly author: 'required' | 'none';
  /** `optional`: every call without an Idempotency-Key is a separate command. `none`: the operation accepts no key. */
  readonly idempotency: 'required' | 'optional' | 'none';
  /** The caller must name the revision to change: in the header If-Match, or over MCP in the argument if_match. */
  readonly ifMatch?: 'required';
  /** REST status of a successful call. The default is 200. A response with status 204 has no body. */
  readonly status?: 201 | 204;
  readonly location?: (body: B) => string;
  readonly emits: readonly string[];
  readonly output: z.ZodType<unknown, B>;
  handle(context: WriteContext<Input<P> & Input<Q> & Input<D>, W>): Promise<B>;
}

export interface PageRule {
  readonly cursor: Cursor;
  /** The default of the parameter `limit`. */
  readonly limit: number;
  /** The largest value of the parameter `limit`. The default is 100. */
  readonly max?: number;
}

/** A tool as the gateway uses it: the declaration, and values that the gateway computes once from the declaration. */
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
  readonly parts: Readonly<Record<string, Demand>>;
  readonly cost: number;
  readonly costWith: Price | undefined;
  readonly parameters: readonly Parameter[];
  readonly idempotency: 'required' | 'optional' | 'none';
  readonly ifMatch: boolean;
  readonly status: 101 | 200 | 201 | 204;
  readonly emits: readonly string[];
  /** True when a request has a JSON body, even if the body is an empty object. */
  readonly body: boolean;
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  readonly errors: readonly FailureCode[];
  /** JSON pointers to the texts in the output that people outside the service write. `*` stands for any array index. */
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
    parts: declaration.parts ?? {},
    cost: declaration.cost ?? 1,
    costWith: declaration.costWith,
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
    // The cast is sound, because the corridor passes only input that `input` has accepted and the context for this
    // effect.
    handle: declaration.handle as Tool['handle'],
    bytes: read?.bytes as Tool['bytes'], // the cast is sound, because the corridor passes only input that `input` has accepted
  };
}

const pageParameters = ({ max = 100, ...page }: PageRule): Shape => ({
  limit: z
    .int()
    .min(1)
    .max(max)
    .default(page.limit)
    .describe(
      `Records per page. The range is 1 to ${max}, and the default is ${page.limit}. A page can hold fewer records.`,
    ),
  cursor: accepts(('schema' in page.cursor ? page.cursor.schema : page.cursor).optional(), NEXT_CURSOR).describe(
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
  // The cast is needed, because zod types the inner schema only with its core interface.
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
    ? unwrap(schema.unwrap() as z.ZodType)
    : schema;
}

/** For an operation that lists records: the caller must name the website. */
export const inWebsite = { website_id: WebsiteId };
/** For an operation that names a record by its id: the id already names the website, so `website_id` is optional. */
export const ofWebsite = {
  website_id: WebsiteId.optional().describe(
    'Website of the record. Absent: the website that the id of the record names. Any other website fails with not_found.',
  ),
};

export const data = <S extends Shape>(shape: S) =>
  z.strictObject({ data: z.strictObject(shape).describe('Object that holds the members of the answer.') });

export const NextCursor = ServiceText.nullable().describe(
  'Cursor of the next page. Null if this page is the last page.',
);

export const coverage = <T extends string>(value: T) =>
  z.literal(value).describe('Name of the data that this operation reads. The operation always returns this value.');

export const listOf = <S extends z.ZodType>(schema: S) => z.array(schema).max(100);
