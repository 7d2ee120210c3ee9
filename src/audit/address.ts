import { isIP } from 'node:net';
import { networkOf } from '../flow/network.ts';

/** The network of an address: /24 of IPv4, /48 of IPv6. `full`: the address itself. Nothing of a text that is none. */
export function recordedAddress(address: string, full: boolean): string | undefined {
  if (isIP(address) === 0) return undefined;
  // An IPv4 address within IPv6 is recorded as what it is.
  const network = networkOf(address);
  if (network.endsWith('::/64')) return full ? address : `${network.split(':').slice(0, 3).join(':')}::/48`;
  return full ? network : network.replace(/\.\d+$/, '.0/24');
}
