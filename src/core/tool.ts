import { z } from 'zod';
import type { Authority } from './authority.ts';
import type { FailureCode } from './failures.ts';
import type { GuideName } from './guides.ts';
import { type IdKind, idKind, WebsiteId } from './ids.ts';
import type { FileBytes, Reads } from './reads.ts';
import type { DataAccess, Requirement, Scope } from './scopes.ts';
import type { Writes } from './writes.ts';

type Shape = Readonly<Record<string, z.ZodType>>;
type Input<S extends Shape> = z.output<z.ZodObject<S>>;
type Cursor = IdKind | z.ZodString;
type PageInput<P> = P extends undefined ? unknown : { limit: number; cursor?: string | undefined };

/** Groups of operations, as documents show them. */
export const TAGS = {
  Discovery: 'What this credential is and may do.',
  Conversations: 'Stored conversations and their messages.',
  Visitors: 'Stored visitors, their conversations and notes.',
  Contacts: 'Stored contacts, their visitors and notes.',
  Files: 'Attachments: metadata and content in verified chunks.',
  'Directory and catalogues': 'Operators, teams, channels, dispositions, saved responses and links, offers.',
  Reporting: 'Aggregates over AI-evidenced conversations.',
  'AI features': 'Metadata of AI features.',
  Configuration: 'Configuration metadata and its schema.',
  Events: 'Subscriptions to changes, and the receipts that are pulled from them.',
  Realtime: 'Sessions of the socket that streams receipts; over REST only.',
} as const;
export type Tag = keyof typeof TAGS;

/** More authority for one parameter: `given` is the parameter; with `is`, only when it has that value. */
export interface Condition extends Requirement {
  readonly given: string;
  readonly is?: boolean;
}

/** What the gateway knows of itself, for the few operations that tell about it. */
export interface GatewayFacts {
  /** Operations that this authority may call on that website now. */
  operations(): OperationFacts[];
  guides(): GuideName[];
  /** The text of a guide, or `null` where the authority is not given it. */
  guide(name: string): string | null;
}

export interface OperationFacts {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly kind: 'read' | 'write';
  readonly scopes: readonly string[];
  readonly data_access: readonly string[];
  readonly unrestricted_required: boolean;
  readonly author_required: boolean;
}

export interface ReadContext<I> {
  readonly input: I;
  readonly authority: Authority;
  readonly read: Reads;
  readonly gateway: GatewayFacts;
}

export interface WriteContext<I> {
  readonly input: I;
  readonly authority: Authority;
  readonly write: Writes;
}

/** What the corridor gives every handler; `write` is there for writes only. */
export interface CallContext<I> extends ReadContext<I> {
  readonly write: Writes | undefined;
}

/** A request for raw bytes: the Range header's numbers (both inclusive), absent for the first chunk. */
export interface BytesRequest {
  readonly range?: { readonly first: number; readonly last: number | undefined } | { readonly suffix: number };
  readonly ifMatch?: string;
}

interface Declaration<P extends Shape, Q extends Shape> {
  /** The contract's name; the file's name is the same in kebab case. */
  readonly name: string;
  readonly title: string;
  /** One or two sentences for an agent that chooses between tools. */
  readonly summary: string;
  readonly tag: Tag;
  readonly scopes: readonly Scope[];
  readonly dataAccess?: readonly DataAccess[];
  /** refused: only for unrestricted credentials; applied: rows outside are invisible; none: restrictions do not concern it. */
  readonly restrictions: 'refused' | 'applied' | 'none';
  /** refused: tokens that a person's consent has given cannot call it. */
  readonly consent?: 'refused';
  /** false: it has no MCP tool, and is none of the reads and reviewed writes that capabilities list. */
  readonly mcp?: false;
  /** Header Origin has to be sent, with an origin that is registered on the credential. */
  readonly origin?: 'required';
  readonly when?: readonly Condition[];
  /** Quota units of one call; 1 where absent. */
  readonly cost?: number;
  readonly input: { readonly path?: P; readonly query?: Q };
  /** Codes beside those that every operation may give (400, 401, 404, 429, 500, 503). */
  readonly errors?: readonly FailureCode[];
  /** Members that hold text written by visitors or operators, as JSON pointers with `*`. */
  readonly untrusted?: readonly string[];
}

/** What a REST answer says of its body beside the body. */
interface Described<B> {
  /** Revision of what the body shows: the entity tag that If-Match takes. */
  readonly revision?: (body: B) => number;
}

/**
 * One operation, declared once. REST route, validation, OpenAPI, MCP tool, capabilities and documentation are derived
 * from it. `handle` holds the domain only: who may call, from which website and how much of it is the corridor's work.
 */
export interface ReadDeclaration<P extends Shape, Q extends Shape, C extends PageRule | undefined, B>
  extends Declaration<P, Q>,
    Described<B> {
  readonly effect: 'read';
  readonly rest: `GET /api/v1/${string}`;
  readonly page?: C;
  /** A request that upgrades is answered by the socket's own surface and not by `handle`; its status is 101. */
  readonly upgrade?: 'websocket';
  readonly output: z.ZodType<unknown, B>;
  handle(context: ReadContext<Input<P> & Input<Q> & PageInput<C>>): Promise<B>;
  /** Present where the operation can also answer `Accept: application/octet-stream` (REST only). */
  readonly bytes?: (context: ReadContext<Input<P> & Input<Q>>, request: BytesRequest) => Promise<FileBytes>;
}

/**
 * A reviewed write: its effect happens once for each Idempotency-Key. `handle` asks `write` for one command and makes
 * the body of what that answers; it runs again, and must make the same body, whenever the answer is replayed.
 */
export interface WriteDeclaration<P extends Shape, Q extends Shape, D extends Shape, B>
  extends Declaration<P, Q>,
    Described<B> {
  readonly effect: 'write';
  readonly rest: `${'POST' | 'PATCH' | 'DELETE'} /api/v1/${string}`;
  readonly input: { readonly path?: P; readonly query?: Q; readonly body?: D };
  /** Whether the write is made in the name of a mapped native author. */
  readonly author: 'required' | 'none';
  /** optional: without a key, every call is a command of its own. none: it takes no key. */
  readonly idempotency: 'required' | 'optional' | 'none';
  /** The revision that the write is meant for has to be named: header If-Match, argument if_match. */
  readonly ifMatch?: 'required';
  /** Status of its success over REST; 200 where absent. 204 has no body, whatever `handle` answers. */
  readonly status?: 201 | 204;
  /** Path of what was created. */
  readonly location?: (body: B) => string;
  /** Receipts that the change leaves in the journal. */
  readonly emits: readonly string[];
  readonly output: z.ZodType<unknown, B>;
  handle(context: WriteContext<Input<P> & Input<Q> & Input<D>>): Promise<B>;
}

export interface PageRule {
  readonly cursor: Cursor;
  readonly limit: number;
}

/** A declaration with its types erased and what the gateway derives from it once, at load. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly method: string;
  readonly path: string;
  readonly effect: 'read' | 'write';
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
  /** Whether a request has a JSON body, maybe an empty object. */
  readonly body: boolean;
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  readonly errors: readonly FailureCode[];
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
  /** How the text of a URL becomes the value. */
  readonly type: 'string' | 'integer' | 'boolean';
  readonly id: IdKind | undefined;
}

export function defineTool<P extends Shape, Q extends Shape, C extends PageRule | undefined, B>(
  declaration: ReadDeclaration<P, Q, C, B>,
): Tool;
export function defineTool<P extends Shape, Q extends Shape, D extends Shape, B>(
  declaration: WriteDeclaration<P, Q, D, B>,
): Tool;
export function defineTool<P extends Shape, Q extends Shape, D extends Shape, C extends PageRule | undefined, B>(
  declaration: ReadDeclaration<P, Q, C, B> | WriteDeclaration<P, Q, D, B>,
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
    untrusted: declaration.untrusted ?? [],
    paged: page,
    // Both are asked about what `handle` has answered.
    revision: declaration.revision as Tool['revision'],
    location: write?.location as Tool['location'],
    // The corridor passes what `input` has accepted and the context of this effect, so the handler's own types hold.
    handle: declaration.handle as Tool['handle'],
    bytes: read?.bytes as Tool['bytes'], // as above
  };
}

const pageParameters = (page: PageRule): Shape => ({
  limit: z.int().min(1).max(100).default(page.limit).describe('Page length.'),
  cursor: ('schema' in page.cursor ? page.cursor.schema : page.cursor).optional().describe('The last next_cursor.'),
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
  // zod types what an optional or a default holds by its core interface only.
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
    ? unwrap(schema.unwrap() as z.ZodType)
    : schema;
}

/** `website_id` of a list or catalogue operation, and of an operation addressed by a resource id. */
export const inWebsite = { website_id: WebsiteId };
export const ofWebsite = {
  website_id: WebsiteId.optional().describe('Its website.'),
};

/** The `{ data: … }` wrapper of a REST body. */
export const data = <S extends Shape>(shape: S) =>
  z.strictObject({ data: z.strictObject(shape).describe('The answer.') });

export const NextCursor = z.string().nullable().describe('Cursor of the next page; null at the end.');

export const coverage = <T extends string>(value: T) => z.literal(value).describe('What the records were read from.');

/** One page of `view` under its member name, with `next_cursor`. */
export const listOf = <S extends z.ZodType>(schema: S) => z.array(schema).max(100);
