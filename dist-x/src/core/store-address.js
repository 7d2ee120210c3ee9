const PARTS = /^([a-z]+:\/\/)([^/?#]*@)?([^/?#@]*)([^#]*)$/;
/** The values of target_session_attrs that say what the gateway does anyway: it uses no standby as its store. */
const WRITABLE = /^(read-write|primary)$/;
/**
 * The address of a PostgreSQL for each host of `postgres://user@h1:5432,h2:5432/database?target_session_attrs=read-write`.
 * None if target_session_attrs asks for anything but a primary, or if the address has no such form.
 */
export function addressesOf(address) {
    const [, scheme = '', user = '', hosts = '', rest = ''] = PARTS.exec(address) ?? [];
    const [path = '', query] = rest.split(/\?(.*)/s);
    const parameters = query?.split('&') ?? [];
    const wanted = parameters.filter((one) => one.startsWith(ATTRIBUTES));
    if (scheme === '' || !wanted.every((one) => WRITABLE.test(one.slice(ATTRIBUTES.length))))
        return [];
    const others = parameters.filter((one) => !one.startsWith(ATTRIBUTES)).join('&');
    return hosts.split(',').map((host) => `${scheme}${user}${host}${path}${others && `?${others}`}`);
}
const ATTRIBUTES = 'target_session_attrs=';
//# sourceMappingURL=store-address.js.map