import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Refused } from '../cli/output.ts';
import type { Config } from '../config/config.ts';

type Place = Pick<Config, 'host' | 'port' | 'baseUrl'>;

/** Milliseconds in which somebody who listens here takes a connection; who does not is found by `listen`. */
const TAKEN = 1_000;

/**
 * Refused where the port may not be had. Nothing listens on it meanwhile: a client that asked in that moment, of a replica
 * that is started again, would be connected and then reset (checks, F-18).
 */
export async function checkAddress({ host, port }: Place): Promise<void> {
  try {
    if (port === 0) await chosenPort(host);
    else {
      const own = await lookup(host);
      await mayBind(own.address, own.family, port);
      if (await isTaken(own.address, port)) throw Object.assign(new Error('taken'), { code: 'EADDRINUSE' });
    }
  } catch (error) {
    throw refusedPort(error, host, port) ?? error;
  }
}

/** Where to listen and what clients call it; PORT=0 asks the system for a free port, which the address has to name. */
export async function address({ host, port, baseUrl }: Place): Promise<{ port: number; baseUrl: string }> {
  if (port !== 0) return { port, baseUrl };
  const chosen = await chosenPort(host);
  return { port: chosen, baseUrl: baseUrl.replace(/:0$/, `:${chosen}`) };
}

/** What an operator can do about a port that cannot be listened on; `undefined` for any other error. */
export function refusedPort(error: unknown, host: string, port: number): Refused | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') return new Refused(`Port ${port} on ${host} is in use. Choose another with PORT.`);
  if (code === 'EACCES') return new Refused(`Port ${port} may not be opened by this user. Choose another with PORT.`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EAFNOSUPPORT')
    return new Refused(
      `HOST ${host} is not an address of this machine. Choose one that is, or 0.0.0.0 for all of them.`,
    );
  return undefined;
}

async function chosenPort(host: string): Promise<number> {
  const probe = createServer();
  probe.listen(0, host);
  await once(probe, 'listening');
  const free = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof free === 'object' && free ? free.port : 0;
}

/** What a UDP socket is refused for the same reasons as a TCP one; what else it is refused, `listen` will tell. */
const FOREIGN: readonly unknown[] = ['EADDRNOTAVAIL', 'EAFNOSUPPORT'];
/** Ports of the system, which not every user may have. */
const PRIVILEGED = 1_024;

/** Rejects where that address is not this machine's or the port not this user's: a UDP socket tells without a client. */
async function mayBind(host: string, family: number, port: number): Promise<void> {
  const probe = createSocket(family === 6 ? 'udp6' : 'udp4');
  try {
    probe.bind({ port, address: host, exclusive: true });
    await once(probe, 'listening');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (FOREIGN.includes(code) || (code === 'EACCES' && port < PRIVILEGED)) throw error;
  } finally {
    probe.close();
  }
}

/** Whether somebody takes connections there. Of `0.0.0.0` and `::` the loopback is asked, no other address. */
async function isTaken(host: string, port: number): Promise<boolean> {
  const probe = connect({ host, port });
  try {
    await Promise.race([once(probe, 'connect'), pause(TAKEN, undefined, { ref: false })]);
    // A port that the system gives to clients, too, may be connected to itself.
    return !probe.connecting && probe.localPort !== port;
  } catch {
    return false; // refused: nobody does
  } finally {
    probe.destroy();
  }
}
