/** The TLS rules for the database server of a helpdesk. This file does not load the driver. */
const MODES = {
    ...{ disable: 'none', false: 'none', allow: 'either', prefer: 'either', require: 'encrypted' },
};
/** An unknown sslmode requires a verified certificate, as in the driver. */
export function modeOf(address) {
    const { searchParams } = new URL(address);
    const word = searchParams.get('sslmode') ?? searchParams.get('ssl');
    if (word === null)
        return searchParams.get('sslrootcert') === 'system' ? 'verified' : 'unsaid';
    return MODES[word] ?? 'verified';
}
/** True for a host on this machine: a folder of a Unix socket, or a name or an address of loopback. */
export const isLocal = (host) => host.startsWith('/') || /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
/** True if the data may go to the server of the address without encryption. */
export const mayBePlain = (address) => ['unsaid', 'none', 'either'].includes(modeOf(address));
/** True if the address itself allows this, as after `source add --insecure`. */
export const allowsPlain = (address) => ['none', 'either'].includes(modeOf(address));
//# sourceMappingURL=tls.js.map