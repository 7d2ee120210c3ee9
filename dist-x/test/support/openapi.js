/** The part of an OpenAPI document that a reference points to. Throws if there is none. */
export function referred(document, $ref) {
    const part = $ref
        .split('/')
        .slice(1)
        .reduce((whole, name) => Object(whole)[name.replaceAll('~1', '/').replaceAll('~0', '~')], document);
    if (typeof part !== 'object' || part === null)
        throw new Error(`the reference ${$ref} leads nowhere`);
    return part;
}
/** An OpenAPI document in which each reference is replaced by the part that it points to. */
export function resolved(document) {
    const whole = (value) => {
        if (Array.isArray(value))
            return value.map(whole);
        if (typeof value !== 'object' || value === null)
            return value;
        const { $ref, ...own } = value;
        const members = $ref === undefined ? own : { ...referred(document, $ref), ...own };
        return Object.fromEntries(Object.entries(members).map(([name, one]) => [name, whole(one)]));
    };
    return whole(document); // a document without references has the same form
}
/** Each reference in an OpenAPI document, once. */
export const referencesIn = (document) => new Set([...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, $ref = '']) => $ref));
//# sourceMappingURL=openapi.js.map