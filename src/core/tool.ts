import { z } from 'zod';
import type { Authority, Demand } from './authority.ts';
import type { Condition } from './conditions.ts';
import type { Discovery } from './discovery.ts';
import type { FailureCode } from './failures.ts';
import { WebsiteId } from './ids.ts';
import { named } from './json-schema.ts';
import { type Tag, TOOLSET_OF } from './operation-tags.ts';
import { type PageRule, type Parameter, pageParameters, parametersOf, type Shape, shared } from './parameters.ts';
import type { Price } from './price.ts';
import type { FileBytes, Reads } from './reads.ts';
import type { DataAccess, Requirement, Scope } from './scopes.ts';
import { ServiceText, textsOf } from './texts.ts';
import type { Toolset } from './toolsets.ts';
import type { Perform, Write, Writes } from './writes.ts';

export type { Discovery, OperationSummary } from './discovery.ts';
export { TAGS, type Tag } from './operation-tags.ts';
export type { Parameter } from './parameters.ts';

type ToolInput<S extends Shape> = z.output<z.ZodObject<S>>;
type PageInput<P> = P extends undefined ? unknown : { limit: number; cursor?: string | undefined };

export interface ReadContext<I> {
  readonly input: I;
  readonly authority: Authority;
  readonly read: Reads;
  readonly gateway: Discovery;
}

export interface WriteContext<I, W> {
  readonly input: I;
  readonly authority: Authority;
  readonly write: Writes;
  readonly perform: Perform<W>;
}

/** `write` is undefined for reads, `perform` is undefined without `performs`. */
export interface CallContext<I> extends ReadContext<I> {
  readonly write: Writes | undefined;
  readonly perform: Perform<Write> | undefined;
}

/**
 * `range`: the first and the last byte. Without it, the caller gets the first chunk. `ifRange`: the header as sent. The
 * range counts only if `ifRange` is exactly the strong entity tag of the file.
 */
export interface BytesRequest {
  readonly range?: { readonly first: number; readonly last: number | undefined } | { readonly suffix: number };
  readonly ifMatch?: string;
  readonly ifRange?: string;
}

interface Declaration<P extends Shape, Q extends Shape> {
  /** Public name. The file has the same name in kebab case. */
  readonly name: string;
  /** Earlier names of the tool. Calls over MCP still accept them, and no list shows them. */
  readonly aliases?: readonly string[];
  readonly title: string;
  readonly summary: string;
  readonly tag: Tag;
  /** Toolsets that list the tool beside the toolset of its tag. A tool that `performs` is in `writes`, too. */
  readonly toolsets?: readonly Toolset[];
  readonly scopes: readonly Scope[];
  readonly dataAccess?: readonly DataAccess[];
  /**
   * Restricted credential: `refused` fails the call, `applied` hides rows outside the restrictions, `none` ignores
   * them.
   */
  readonly restrictions: 'refused' | 'applied' | 'none';
  /** `refused`: a token from a person's consent cannot call the operation. */
  readonly consent?: 'refused';
  /** A parameter that the answer is about. The call is not refused if what it names is not granted. */
  readonly asksAbout?: string;
  /**
   * `required`: the operation exists only for credentials whose policy names it (`credential issue --write`). The public
   * documents leave it out.
   */
  readonly policy?: 'required';
  /** `false`: neither an MCP tool nor in the list of capabilities. */
  readonly mcp?: false;
  /** `required`: the request needs an Origin header with an origin that the credential has registered. */
  readonly origin?: 'required';
  readonly when?: readonly Condition[];
  /** For each part that answers can leave out (`left_out`): what a caller needs to see it. */
  readonly parts?: Readonly<Record<string, Demand>>;
  /** The default is 1. */
  readonly cost?: number;
  /** The parameter that makes a call more expensive than `cost`. */
  readonly costWith?: Price;
  readonly input: { readonly path?: P; readonly query?: Q };
  /**
   * Further failure codes. Those with status 400, 401, 404, 429, 500 or 503 apply to every operation and are not
   * listed.
   */
  readonly errors?: readonly FailureCode[];
}

interface Described<B> {
  /** The revision of the resource, for the entity tag and If-Match. */
  readonly revision?: (body: B) => number;
}

/**
 * A read operation. The gateway derives the REST route, validation, OpenAPI, the MCP tool, capabilities and
 * documentation from this declaration. `handle` has only domain logic: the corridor checks authority, website and
 * quota.
 */
export interface ReadDeclaration<P extends Shape, Q extends Shape, C extends PageRule | undefined, B>
  extends Declaration<P, Q>,
    Described<B> {
  readonly effect: 'read';
  readonly rest: `GET /api/v1/${string}`;
  readonly page?: C;
  /** The realtime surface answers an upgrade with status 101. `handle` runs only for other requests. */
  readonly upgrade?: 'websocket';
  readonly output: z.ZodType<unknown, B>;
  handle(context: ReadContext<ToolInput<P> & ToolInput<Q> & PageInput<C>>): Promise<B>;
  /** Answers REST requests for `application/octet-stream`. Without it, the operation returns only JSON. */
  readonly bytes?: (context: ReadContext<ToolInput<P> & ToolInput<Q>>, request: BytesRequest) => Promise<FileBytes>;
}

/**
 * A write operation. It happens once for each Idempotency-Key. `handle` gives one command to `perform` or `write`, and
 * makes the body from the result. `handle` runs again for a repeated request, and must then make an equal body.
 */
export interface WriteDeclaration<P extends Shape, Q extends Shape, D extends Shape, B, W>
  extends Declaration<P, Q>,
    Described<B> {
  readonly effect: 'write';
  /** The write that `perform` runs. Without it, the operation changes only the gateway's own records. */
  readonly performs?: W;
  readonly rest: `${'POST' | 'PATCH' | 'DELETE'} /api/v1/${string}`;
  readonly input: { readonly path?: P; readonly query?: Q; readonly body?: D };
  /** `required`: the write happens in the name of an operator, whom the credential must name. */
  readonly author: 'required' | 'none';
  /** `optional`: each call without a key is a separate command. `none`: the operation accepts no key. */
  readonly idempotency: 'required' | 'optional' | 'none';
  /** The caller must name the revision to change: in If-Match, or in the MCP argument if_match. */
  readonly ifMatch?: 'required';
  /** The default is 200. A 204 response has no body. */
  readonly status?: 201 | 204;
  readonly location?: (body: B) => string;
  readonly emits: readonly string[];
  readonly output: z.ZodType<unknown, B>;
  handle(context: WriteContext<ToolInput<P> & ToolInput<Q> & ToolInput<D>, W>): Promise<B>;
}

/** The members of a declaration that a tool has in another form. */
type Recast = 'scopes' | 'dataAccess' | 'consent' | 'asksAbout' | 'policy' | 'mcp' | 'origin' | 'costWith' | 'input';

/** A declaration as the gateway uses it, with values that are computed once. */
export interface Tool extends Required<Omit<Declaration<Shape, Shape>, Recast>> {
  readonly method: string;
  readonly path: string;
  readonly effect: 'read' | 'write';
  readonly performs: Write | undefined;
  readonly required: Requirement;
  readonly consent: 'refused' | 'none';
  readonly asksAbout: string | undefined;
  /** True if the operation exists only for credentials whose policy names it. */
  readonly byPolicy: boolean;
  readonly mcp: boolean;
  readonly origin: boolean;
  readonly author: boolean;
  readonly costWith: Price | undefined;
  readonly parameters: readonly Parameter[];
  readonly idempotency: 'required' | 'optional' | 'none';
  readonly ifMatch: boolean;
  readonly status: 101 | 200 | 201 | 204;
  readonly emits: readonly string[];
  /** True if requests have a JSON body, even an empty object. */
  readonly body: boolean;
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  /** JSON pointers to output texts that people outside the service write. `*` stands for any array index. */
  readonly untrusted: readonly string[];
  readonly paged: PageRule | undefined;
  readonly revision: ((body: unknown) => number) | undefined;
  readonly location: ((body: unknown) => string) | undefined;
  handle(context: CallContext<unknown>): Promise<unknown>;
  readonly bytes: ((context: ReadContext<unknown>, request: BytesRequest) => Promise<FileBytes>) | undefined;
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
    aliases: declaration.aliases ?? [],
    title,
    summary,
    method,
    path,
    effect,
    performs: write?.performs,
    tag,
    toolsets: [TOOLSET_OF[tag], ...(write?.performs ? ['writes' as const] : []), ...(declaration.toolsets ?? [])],
    required: { scopes: declaration.scopes, dataAccess: declaration.dataAccess ?? [] },
    restrictions,
    consent: declaration.consent ?? 'none',
    asksAbout: declaration.asksAbout,
    byPolicy: declaration.policy === 'required',
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
    parameters: places.flatMap(([place, shape]) => parametersOf(shape, place)),
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
    // The cast is sound: the corridor passes only input that `input` has accepted, and the context for this effect.
    handle: declaration.handle as Tool['handle'],
    bytes: read?.bytes as Tool['bytes'], // the cast is sound, because the corridor passes only input that `input` has accepted
  };
}

/** For a list: the caller must name the website. */
export const inWebsite = { website_id: WebsiteId };
/** For one record: its id already names the website, so `website_id` is optional. */
export const ofWebsite = {
  website_id: shared(
    'website_id_of_record',
    WebsiteId.optional().describe(
      'Website of the record. Absent: the website that the id of the record names. Any other website fails with not_found.',
    ),
  ),
};
/** For an operation that finds records on every granted website. */
export const anyWebsite = {
  website_id: shared(
    'website_id_of_search',
    WebsiteId.optional().describe('Only this website. Absent: all granted websites.'),
  ),
};

export const data = <S extends Shape>(shape: S) =>
  z.strictObject({ data: z.strictObject(shape).describe('The answer.') });

export const NextCursor = named(
  'NextCursor',
  ServiceText.nullable().describe('Cursor of the next page. Null if this page is the last page.'),
);

export const coverage = <T extends string>(value: T) => z.literal(value).describe('What was read.');

export const listOf = <S extends z.ZodType>(schema: S) => z.array(schema).max(100);
