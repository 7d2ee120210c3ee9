import { isIPv6 } from 'node:net';
/**
 * Returns the network under which the gateway counts failed attempts from an IP address. For IPv4, the network is the
 * address itself. For IPv6, the network is the /64, because one subscriber has 2^64 addresses.
 */
export function networkOf(address) {
    const canonical = canonicalOf(address);
    return isIPv6(canonical) ? `${groupsOf(canonical).slice(0, 4).join(':')}::/64` : canonical;
}
/**
 * The canonical text of an IPv6 address, without its zone. An IPv4-mapped IPv6 address becomes the IPv4 address. Every
 * other text stays as it is.
 */
export function canonicalOf(address) {
    if (!isIPv6(address))
        return address;
    // The URL parser writes every IPv6 address in one canonical form. The parser accepts no zone such as `%eth0`, so the
    // zone is removed first.
    const canonical = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
    const groups = groupsOf(canonical);
    if (groups.slice(0, 6).join(':') !== '0:0:0:0:0:ffff')
        return canonical;
    return groups
        .slice(6)
        .map((group) => Number.parseInt(group, 16))
        .flatMap((group) => [group >> 8, group & 255])
        .join('.');
}
/** The eight groups of an IPv6 address in canonical form. */
export function groupsOf(canonical) {
    const [head = [], tail = []] = canonical.split('::').map((part) => part.split(':').filter((group) => group !== ''));
    return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail];
}
//# sourceMappingURL=network.js.map