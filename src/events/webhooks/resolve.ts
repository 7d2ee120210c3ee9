import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isPublic } from './addresses.ts';
import { hostOf } from './receivers.ts';

/** All addresses of a name. Rejects where it has none or nobody answers. */
export type Resolve = (host: string, exempt: boolean) => Promise<readonly string[]>;

/** Milliseconds and attempts: a name that is answered slowly must not use up the time of its delivery. */
const PATIENCE = { timeout: 1_500, tries: 2 };

/**
 * Asks name servers, not the system: its look-ups stand in a line of four threads, in which one dead name server would
 * keep every other receiver waiting. Only an exempt receiver may be a name of /etc/hosts.
 */
export const resolveName: Resolve = async (host, exempt) => {
  if (exempt) return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
  const resolver = new Resolver(PATIENCE);
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  const [failed] = found.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  if (addresses.length === 0) throw failed;
  return addresses;
};

/** A receiver's addresses are not all public: none of them is connected to. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/**
 * The addresses to connect to, asked for once and each of them checked: what is connected to is what was checked, however
 * the name is answered a moment later. Throws AddressRefused where one of them is not public.
 */
export async function checkedAddresses(url: URL, exempt: boolean, resolve: Resolve): Promise<readonly string[]> {
  const host = hostOf(url);
  const addresses = isIP(host) === 0 ? await resolve(host, exempt) : [host];
  if (!exempt && !addresses.every(isPublic)) throw new AddressRefused('an address of the receiver is not public');
  return addresses;
}
