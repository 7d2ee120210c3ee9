const LIST = /^[\w.-]+:[A-Za-z0-9+/]{43}=(,[\w.-]+:[A-Za-z0-9+/]{43}=)*$/;
/**
 * Parses a comma-separated list of keys, each as `kid:BASE64`. Each key must have 32 bytes and a unique name. Returns
 * `undefined` if the list is malformed.
 */
export function parseKeys(text) {
    if (!LIST.test(text))
        return undefined;
    const keys = text.split(',').map((one) => {
        const [kid = '', encoded = ''] = one.split(':');
        return { kid, secret: Buffer.from(encoded, 'base64') };
    });
    return new Set(keys.map(({ kid }) => kid)).size === keys.length ? keys : undefined;
}
//# sourceMappingURL=key-list.js.map