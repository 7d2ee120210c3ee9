/**
 * True for HTTPS. Over plain HTTP, browsers reject a cookie with the prefix `__Host-`. The gateway uses plain HTTP only
 * on loopback.
 */
const secure = (baseUrl) => baseUrl.startsWith('https:');
/**
 * Adds the prefix `__Host-` to the name of a cookie, so that no other host of the domain can set or read the cookie
 * (RFC 6265bis, section 4.1.3.2).
 */
const named = (baseUrl, name) => (secure(baseUrl) ? `__Host-${name}` : name);
export const sessionName = (baseUrl) => named(baseUrl, 'igw_session');
export const identityName = (baseUrl) => named(baseUrl, 'igw_identity');
/**
 * Attributes of a cookie that scripts cannot read. Links and redirects from other sites send the cookie, but forms from
 * other sites do not.
 */
const attributes = (baseUrl, seconds) => `; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure(baseUrl) ? '; Secure' : ''}`;
export const sessionCookie = (baseUrl, secret, seconds) => `${sessionName(baseUrl)}=${secret}${attributes(baseUrl, seconds)}`;
export const clearedSession = (baseUrl) => sessionCookie(baseUrl, '', 0);
/** The secret in the session cookie. `undefined` unless the request has exactly one such cookie. */
export const sessionOf = (request, baseUrl) => readCookie(request, sessionName(baseUrl));
/** Set-Cookie for the state of a sign-in at the identity provider. A lifetime of 0 seconds deletes the cookie. */
export const identityCookie = (baseUrl, kept, seconds) => `${identityName(baseUrl)}=${kept}${attributes(baseUrl, seconds)}`;
/**
 * Returns the value of a cookie. Returns `undefined` if the cookie is absent or empty. Also returns `undefined` if the
 * request has two cookies with this name, because one of the two can be forged.
 */
export function readCookie(request, name) {
    const [value = '', ...others] = (request.headers.cookie ?? '')
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`))
        .map((pair) => pair.slice(name.length + 1));
    return others.length === 0 && value !== '' ? value : undefined;
}
//# sourceMappingURL=cookies.js.map