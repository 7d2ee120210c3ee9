import { isLoopback, isUsable } from './document.js';
/**
 * True when a client may send the browser to `asked`. The address must be listed exactly (RFC 9700, section 2.1). On
 * loopback, a client by URL may use any port, because an app on the person's machine takes a free port (RFC 8252,
 * section 7.3).
 */
export function mayRedirect({ kind, redirects }, asked) {
    if (redirects.includes(asked))
        return true;
    const bare = kind === 'by_url' ? withoutPort(asked) : undefined;
    return bare !== undefined && redirects.some((one) => withoutPort(one) === bare);
}
/** A loopback address without its port. Only the port is cut, so every other character must be the same. */
function withoutPort(text) {
    if (!isUsable(text) || !isLoopback(new URL(text)))
        return undefined;
    const [, host, rest = ''] = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?((?:[/?].*)?)$/.exec(text) ?? [];
    return host === undefined ? undefined : `${host}${rest}`;
}
//# sourceMappingURL=client.js.map