import { z } from 'zod';
import { WebsiteId } from './ids.js';
import { named } from './json-schema.js';
import { TOOLSET_OF } from './operation-tags.js';
import { pageParameters, parameter, shared } from './parameters.js';
import { ServiceText, textsOf } from './texts.js';
export { TAGS } from './operation-tags.js';
export function defineTool(declaration) {
    const write = declaration.effect === 'write' ? declaration : undefined;
    const read = declaration.effect === 'read' ? declaration : undefined;
    const { name, title, summary, effect, tag, restrictions, output } = declaration;
    const [method = '', path = ''] = declaration.rest.split(' ');
    const page = read?.page;
    const places = [
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
        toolsets: [TOOLSET_OF[tag], ...(write?.performs ? ['writes'] : []), ...(declaration.toolsets ?? [])],
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
        parameters: places.flatMap(([place, shape]) => Object.entries(shape).map(([parameterName, schema]) => parameter(parameterName, place, schema))),
        input: z.strictObject(Object.assign({}, ...places.map(([, shape]) => shape))),
        output,
        errors: declaration.errors ?? [],
        untrusted: [
            ...new Set(textsOf(output).flatMap(({ pointer, writer }) => (writer === 'outsiders' ? [pointer] : []))),
        ],
        paged: page,
        // The casts are sound, because both functions receive only a body that `handle` has returned.
        revision: declaration.revision,
        location: write?.location,
        // The cast is sound: the corridor passes only input that `input` has accepted, and the context for this effect.
        handle: declaration.handle,
        bytes: read?.bytes, // the cast is sound, because the corridor passes only input that `input` has accepted
    };
}
/** For a list: the caller must name the website. */
export const inWebsite = { website_id: WebsiteId };
/** For one record: its id already names the website, so `website_id` is optional. */
export const ofWebsite = {
    website_id: shared('website_id_of_record', WebsiteId.optional().describe('Website of the record. Absent: the website that the id of the record names. Any other website fails with not_found.')),
};
/** For an operation that finds records on every granted website. */
export const anyWebsite = {
    website_id: shared('website_id_of_search', WebsiteId.optional().describe('Only this website. Absent: all granted websites.')),
};
export const data = (shape) => z.strictObject({ data: z.strictObject(shape).describe('The answer.') });
export const NextCursor = named('NextCursor', ServiceText.nullable().describe('Cursor of the next page. Null if this page is the last page.'));
export const coverage = (value) => z.literal(value).describe('What was read.');
export const listOf = (schema) => z.array(schema).max(100);
//# sourceMappingURL=tool.js.map