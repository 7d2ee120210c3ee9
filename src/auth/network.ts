import { isIPv6 } from 'node:net';

/**
 * Returns the network by which failures are counted. An IPv4 address is its own network. The network of an IPv6 address
 * is its /64, because one subscriber has 2^64 addresses.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  // The URL parser writes an IPv6 address in one canonical form, as hexadecimal groups. The parser accepts no zone.
  const canonical = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = canonical.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const groups = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail];
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') {
    return groups
      .slice(6)
      .map((group) => Number.parseInt(group, 16))
      .flatMap((group) => [group >> 8, group & 255])
      .join('.');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
