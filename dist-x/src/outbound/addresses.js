import { BlockList, isIPv4, isIPv6 } from 'node:net';
/** Networks outside the public internet (RFC 6890; WH-09), from the registries of special-purpose addresses. */
const SPECIAL_V4 = [
    ['0.0.0.0', 8], // hosts on the local network
    ['10.0.0.0', 8],
    ['100.64.0.0', 10], // carrier-grade NAT
    ['127.0.0.0', 8],
    ['168.63.129.16', 32], // an address of the Azure platform
    ['169.254.0.0', 16], // link-local addresses and the metadata services of clouds
    ['172.16.0.0', 12],
    ['192.0.0.0', 24], // IETF protocol assignments
    ['192.0.2.0', 24], // addresses for examples in documentation
    ['192.31.196.0', 24], // AS112 name servers
    ['192.52.193.0', 24], // automatic multicast tunneling (AMT)
    ['192.88.99.0', 24], // 6to4 relays
    ['192.168.0.0', 16],
    ['192.175.48.0', 24],
    ['198.18.0.0', 15], // benchmark tests of network devices
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 4], // multicast
    ['240.0.0.0', 4], // reserved addresses and broadcast
];
const special = new BlockList();
for (const [network, prefix] of SPECIAL_V4)
    special.addSubnet(network, prefix, 'ipv4');
// IPv6: only the range for global unicast, without its networks that carry IPv4 addresses or have no hosts.
const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');
const SPECIAL_V6 = [
    ['2001::', 23], // IETF protocol assignments, including Teredo
    ['2001:db8::', 32], // addresses for examples in documentation
    ['2002::', 16], // 6to4 tunnels
    ['2620:4f:8000::', 48], // AS112 name servers
    ['3ffe::', 16], // 6bone, a former test network
    ['3fff::', 20], // addresses for examples in documentation
];
for (const [network, prefix] of SPECIAL_V6)
    special.addSubnet(network, prefix, 'ipv6');
/**
 * False for an IPv6 address that contains an IPv4 address (mapped, NAT64, 6to4, Teredo), because no receiver needs one.
 * False for an address with a zone, and for a text that is no address.
 */
export function isPublic(address) {
    if (isIPv4(address))
        return !special.check(address, 'ipv4');
    if (!isIPv6(address) || address.includes('%'))
        return false;
    return global.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
//# sourceMappingURL=addresses.js.map