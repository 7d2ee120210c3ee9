/** The rules for TLS to the database server of somebody else. This file does not load the driver. */

/** How the address asks for TLS. `verified` also checks the certificate. `unsaid`: the address has no sslmode. */
export type Mode = 'unsaid' | 'none' | 'either' | 'encrypted' | 'verified';

const MODES: Readonly<Record<string, Mode>> = {
  ...{ disable: 'none', false: 'none', allow: 'either', prefer: 'either', require: 'encrypted' },
};

/** As in the driver, a word that is not known asks for a checked certificate. */
export function modeOf(address: string): Mode {
  const { searchParams } = new URL(address);
  const word = searchParams.get('sslmode') ?? searchParams.get('ssl');
  if (word === null) return searchParams.get('sslrootcert') === 'system' ? 'verified' : 'unsaid';
  return MODES[word] ?? 'verified';
}

/** True for a host on this machine: a folder of a Unix socket, or a name or an address of loopback. */
export const isLocal = (host: string): boolean =>
  host.startsWith('/') || /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);

/** True if the data can travel to the server of the address without encryption. */
export const mayBePlain = (address: string): boolean => ['unsaid', 'none', 'either'].includes(modeOf(address));

/** True if the address itself says so, as after `source add --insecure`. */
export const allowsPlain = (address: string): boolean => ['none', 'either'].includes(modeOf(address));
