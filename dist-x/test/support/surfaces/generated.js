import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
/**
 * Generates requests from the served schemas: valid ones, and ones with exactly one fault, which the answer must name.
 * Set FC_SEED to repeat a failed run.
 */
export const seed = Number(process.env['FC_SEED'] ?? Math.floor(Date.now() % 2 ** 31));
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
/** Kept outside the schemas, so that a printed counterexample stays short. */
const validators = new WeakMap();
const fits = (schema, value) => {
    const known = validators.get(schema) ?? ajv.compile(schema);
    validators.set(schema, known);
    return known(value) === true;
};
/** Stores each schema's generator. Creating one takes longer than generating a value. */
function kept(make) {
    const all = new WeakMap();
    return (schema) => {
        const known = all.get(schema) ?? make(schema);
        all.set(schema, known);
        return known;
    };
}
export function readOperations(document, examples) {
    return Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, { operationId, parameters, requestBody, responses }]) => ({
        path,
        method: method.toUpperCase(),
        name: operationId,
        body: requestBody?.content['application/json'].schema,
        parameters: parameters.filter((one) => one.in !== 'header'),
        headers: parameters.filter((one) => one.in === 'header'),
        statuses: new Set(Object.keys(responses).map(Number)),
        example: examples.find(({ tool }) => tool.name === operationId),
    })));
}
/** True if the schema accepts the text, converted to the parameter's type. */
function takes({ schema }, text) {
    const { type } = schema;
    if (type === 'integer' && !/^-?[0-9]+$/.test(text))
        return false;
    if (type === 'boolean' && text !== 'true' && text !== 'false')
        return false;
    return fits(schema, type === 'integer' ? Number(text) : type === 'boolean' ? text === 'true' : text);
}
const blank = (text) => text.replaceAll(/\p{White_Space}/gu, '') === '';
/** Ids of other records of the same type: on the same website, on another one, and in another organization. */
const neighbours = (schema) => {
    const [, prefix = ''] = /^\^([a-z]{3})_\[/.exec(schema.pattern ?? '') ?? [];
    const ids = [1, 2].flatMap((tenant) => [1, 2].flatMap((site) => [
        `${prefix}_${tenant}_${site}`,
        ...[1, 2, 3].map((id) => `${prefix}_${tenant}_${site}_${id}`),
    ]));
    return ids.filter((id) => fits(schema, id));
};
/** Values that a schema accepts. Text has no NUL and is not blank: the schemas cannot express these two rules. */
export const value = kept((schema) => {
    const { properties, items, minLength = 0, maxLength = 40 } = schema;
    if (schema.enum !== undefined)
        return fc.constantFrom(...schema.enum);
    if (schema.const !== undefined)
        return fc.constant(schema.const);
    if (properties) {
        const { required = [], minProperties = 0 } = schema;
        const optional = Object.keys(properties).filter((name) => !required.includes(name));
        const member = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, value(one)]));
        return fc
            .subarray(optional, { minLength: Math.max(0, minProperties - required.length) })
            .chain((chosen) => fc.record(Object.fromEntries([...required, ...chosen].map((name) => [name, member[name] ?? fc.nat()]))));
    }
    if (items)
        return fc.uniqueArray(value(items), {
            minLength: schema.minItems ?? 0,
            maxLength: Math.min(schema.maxItems ?? 3, 3),
        });
    if (schema.type === 'integer')
        return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1_000 });
    if (schema.type === 'boolean')
        return fc.boolean();
    if (schema.format === 'date-time')
        return fc
            .date({ min: new Date('1980-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
            .map((date) => date.toISOString());
    if (schema.pattern !== undefined) {
        const drawn = fc.stringMatching(new RegExp(schema.pattern)).filter((text) => fits(schema, text));
        const near = neighbours(schema);
        return near.length > 0 ? fc.oneof(drawn, fc.constantFrom(...near)) : drawn;
    }
    return fc
        .string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 60) })
        .filter((text) => !text.includes('\0') && !blank(text) && text.length <= maxLength);
});
const texts = kept((schema) => value(schema).map(String));
/** Every required parameter and at most two others. With more, a call would rarely find any data. */
export function request({ parameters, path, example }) {
    const segments = example?.path.split('/') ?? [];
    const at = path.split('/');
    const exampleOf = ({ name, in: place }) => place === 'path'
        ? segments[at.indexOf(`{${name}}`)]
        : (example?.query.find(([one]) => one === name)?.[1] ?? (name === 'website_id' ? 'web_1_1' : undefined));
    const drawn = new Map(parameters.map((one) => {
        const known = exampleOf(one);
        const good = texts(one.schema);
        const often = known === undefined ? good : fc.oneof({ weight: 3, arbitrary: fc.constant(known) }, good);
        return [one, often.map((text) => [one, text])];
    }));
    const optional = parameters.filter((one) => !one.required);
    return fc
        .subarray(optional, { maxLength: Math.min(2, optional.length) })
        .map((chosen) => parameters.filter((one) => one.required || chosen.includes(one)))
        .chain((chosen) => fc.tuple(...chosen.flatMap((one) => drawn.get(one) ?? [])));
}
/** A body that often has the example's values, so that some calls succeed. */
export function like(schema, example) {
    const often = fc.constantFrom(true, true, true, false);
    return fc
        .tuple(value(schema), ...Object.keys(example).map((name) => often.map((keep) => [name, keep])))
        .map(([drawn, ...keeps]) => ({
        ...Object(drawn),
        ...Object.fromEntries(keeps.filter(([, keep]) => keep).map(([name]) => [name, example[name]])),
    }));
}
const WRONG = [null, [], ['x'], {}, '', '\0', 'a\0b', 1.5, -1, 2 ** 31, 1e300];
/** Values that no schema of this type accepts. All schemas have bounds, and none accepts an empty text or NUL. */
const wrongFor = kept(({ type, const: only, maxLength }) => fc.constantFrom(...WRONG, ...(type === 'string' || only !== undefined ? [1, true] : ['1', 'true']), ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)])));
/**
 * A valid body with exactly one fault, which the answer must name by its JSON pointer (`names`). Blank text is left to
 * bodies.test.ts, because no schema forbids it.
 */
export function mutatedBody(schema, body) {
    const { properties = {}, required = [] } = schema;
    const unknown = fc
        .constantFrom('x', 'website_id', 'visitor_id', 'constructor', 'toString', 'idempotency_key')
        .filter((name) => !Object.hasOwn(properties, name))
        .map((name) => ({ body: { ...body, [name]: 1 }, names: `/${name}` }));
    const members = Object.entries(properties).flatMap(([name, one]) => {
        const here = [
            () => wrongFor(one)
                // For an optional member, these say that it is not given.
                .filter((bad) => required.includes(name) || (bad !== null && bad !== ''))
                .map((bad) => ({ body: { ...body, [name]: bad }, names: `/${name}` })),
        ];
        if (required.includes(name)) {
            const { [name]: _, ...without } = body;
            here.push(() => fc.constant({ body: without, names: `/${name}` }));
        }
        const inner = body[name];
        if (one.properties && typeof inner === 'object' && inner !== null)
            here.push(() => mutatedBody(one, { ...inner }).map(({ body: bad, names }) => ({
                body: { ...body, [name]: bad },
                names: `/${name}${names}`,
            })));
        return here;
    });
    return oneOf([() => unknown, ...members]);
}
const oneOf = (options) => fc.constantFrom(...options).chain((make) => make());
const pair = (name, value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
const pathOf = (operation, given) => given.reduce((path, [{ name, in: place }, text]) => (place === 'path' ? path.replace(`{${name}}`, text) : path), operation.path);
const pairsOf = (given) => given.filter(([one]) => one.in === 'query').map(([{ name }, text]) => pair(name, text));
const urlOf = (path, pairs) => pairs.length > 0 ? `${path}?${pairs.join('&')}` : path;
export const addressOf = (operation, given) => urlOf(pathOf(operation, given), pairsOf(given));
const ANYTHING = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('', ' ', '-1', '0', '1e3', '99999999999999999999', 'null', 'x'.repeat(300), "' OR 1=1 --"));
const SEGMENT = fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/);
/** A valid URL with exactly one fault. The answer must contain `names`, the name of the faulty part. */
export function mutated(operation, given) {
    const path = pathOf(operation, given);
    const pairs = pairsOf(given);
    const queries = operation.parameters.filter((one) => one.in === 'query');
    const without = (name) => pairs.filter((one) => !one.startsWith(`${name}=`));
    const options = [
        () => fc
            .constantFrom('x=1', '=', '=1', '__proto__=1', 'limit[]=1', 'toString=1', '%ZZ=1', '%80=1', '')
            .chain((piece) => fc.nat(pairs.length).map((i) => [...pairs.slice(0, i), piece, ...pairs.slice(i)]))
            .filter((all) => all.length > 1 || all[0] !== '')
            .map((all) => ({ url: urlOf(path, all), names: undefined })),
    ];
    for (const { name } of queries.filter((one) => one.required))
        options.push(() => fc.constant({ url: urlOf(path, without(name)), names: name }));
    for (const [{ name, in: place }, text] of given) {
        if (place === 'query')
            options.push(() => fc.constant({ url: urlOf(path, [...pairs, pair(name, text)]), names: name }));
    }
    for (const parameter of queries) {
        const { name, schema } = parameter;
        options.push(() => fc
            .constantFrom('%', '%A', '%GG', '%C0%AF', '%ED%A0%80', '%00', 'a%00', '%F5%80%80%80')
            .map((bad) => ({ url: urlOf(path, [...without(name), `${name}=${bad}`]), names: name })));
        // A text parameter without a pattern accepts all characters, so only its length can be wrong.
        options.push(() => fc
            .oneof(ANYTHING, texts(schema).chain((good) => fc.nat(good.length).map((i) => `${good.slice(0, i)}~${good.slice(i)}`)))
            .map((text) => (takes(parameter, text) ? 'x'.repeat((schema.maxLength ?? 399) + 1) : text))
            .filter((text) => !takes(parameter, text))
            .map((text) => ({ url: urlOf(path, [...without(name), pair(name, text)]), names: name })));
    }
    for (const [parameter, text] of given.filter(([one]) => one.in === 'path')) {
        options.push(() => SEGMENT.filter((other) => !takes(parameter, other)).map((other) => ({
            url: urlOf(path.replace(text, other), pairs),
            names: parameter.name,
        })));
    }
    return oneOf(options);
}
//# sourceMappingURL=generated.js.map