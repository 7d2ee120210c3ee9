import { lookup, Resolver } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import { isPublic } from './addresses.js';
import { hostOf } from './receivers.js';
/** In milliseconds. A slow name server must not use up the time of the delivery. */
const PATIENCE = { timeout: 1_500, tries: 2 };
/**
 * Asks the name servers directly. The operating system's look-up uses one of libuv's four threads, so one dead name
 * server would delay every receiver. Only receivers in GATEWAY_WEBHOOK_ALLOW can have a name from /etc/hosts.
 */
export const resolveName = async (host, exempt) => {
    if (exempt)
        return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
    const resolver = new Resolver(PATIENCE);
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    const [failed] = found.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    if (addresses.length === 0)
        throw failed;
    return addresses;
};
export class AddressRefused extends Error {
    name = 'AddressRefused';
}
/**
 * Resolves the host name once and checks every IP address. The connection uses one of these addresses, so a later DNS
 * answer cannot redirect it. Throws AddressRefused if an address is not public.
 */
export async function checkedAddresses(url, exempt, resolve) {
    const host = hostOf(url);
    const addresses = isIP(host) === 0 ? await resolve(host, exempt) : [host];
    if (!exempt && !addresses.every(isPublic))
        throw new AddressRefused('an address of the receiver is not public');
    return addresses;
}
/** A DNS look-up that gives only the checked addresses. */
export const pinned = (addresses) => {
    const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
    return (_host, options, done) => {
        const [first] = all;
        if (options.all === true)
            done(null, all);
        else
            done(null, first?.address ?? '', first?.family ?? 0);
    };
};
//# sourceMappingURL=resolve.js.map