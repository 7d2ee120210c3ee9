import { createHash, randomBytes } from 'node:crypto';
import type { Authority } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { HEARTBEAT, MAX_ATTACHED, PROTOCOL, type RealtimeTicket, type RealtimeWrites } from '../core/realtime.ts';
import { closeSession, createSession, createTicket } from '../store/events/realtime.ts';
import type { Corridor } from './call.ts';
import { mayCall } from './registry.ts';
import type { WriteCall } from './writes.ts';

export class RealtimeSessions {
  readonly #base: string;

  /** `baseUrl` is the public base URL of the gateway. */
  constructor(baseUrl: string) {
    this.#base = baseUrl.replace(/^http/, 'ws');
  }

  writes({ caller, access, origin = '' }: WriteCall): RealtimeWrites {
    const ticketOf = (id: string, { ticket, expires }: { ticket: string; expires: number }): RealtimeTicket => ({
      ticket,
      ticket_expires_at: expires,
      socket_url: `${this.#base}/api/v1/realtime/sessions/${id}/socket`,
    });
    return {
      createSession: async (websites) => {
        const { websites: granted } = caller.authority;
        const sites = (websites ?? [...granted.keys()]).map((id) => {
          const website = granted.get(id);
          if (!website) throw new Failure('not_found', { outside: true });
          return website.site;
        });
        const id = `rts_${randomBytes(16).toString('hex')}`;
        const { ticket, digest } = newTicket();
        const done = await caller.take(createSession(access, { id, origin, sites, ticket: digest }));
        return {
          session_id: id,
          ...ticketOf(id, { ticket, expires: done.ticket_expires_at }),
          protocol: PROTOCOL,
          expires_at: done.expires_at,
          heartbeat_seconds: HEARTBEAT,
          max_subscriptions: MAX_ATTACHED,
        };
      },
      createTicket: async (id) => {
        const { ticket, digest } = newTicket();
        const done = await caller.take(createTicket(access, { id, origin, ticket: digest }));
        return ticketOf(id, { ticket, expires: done.ticket_expires_at });
      },
      closeSession: async (id) => {
        await caller.take(closeSession(access, { id, origin }));
      },
    };
  }
}

/** The functions that a realtime socket needs: check the authority, charge for a page, and refund a page. */
export function streaming(corridor: Corridor): {
  permitted(authority: Authority): boolean;
  charge(authority: Authority): Promise<number>;
  refund(authority: Authority, units: number): void;
} {
  const socket = corridor.registry.operations.find(({ status }) => status === 101);
  return {
    permitted: (authority) => socket !== undefined && mayCall(socket, authority),
    charge: (authority) => corridor.charge(authority, socket?.cost ?? 1, 0),
    refund: (authority, units) => corridor.refund(authority, units),
  };
}

function newTicket(): { ticket: string; digest: Buffer } {
  const ticket = randomBytes(32).toString('base64url');
  return { ticket, digest: createHash('sha256').update(ticket).digest() };
}
