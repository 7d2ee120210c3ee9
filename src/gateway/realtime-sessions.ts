import { createHash, randomBytes } from 'node:crypto';
import {
  HEARTBEAT,
  MAX_ATTACHED,
  PROTOCOL,
  type RealtimeTicket,
  type RealtimeWrites,
} from '../core/realtime-session.ts';
import { closeSession, createSession, createTicket } from '../store/events/realtime-sessions.ts';
import { sitesOf } from './call-input.ts';
import type { WriteCall } from './writes.ts';

export class RealtimeSessions {
  readonly #base: string;

  constructor(baseUrl: string) {
    this.#base = baseUrl.replace(/^http/, 'ws');
  }

  writes({ caller, access, origin = '', draft }: WriteCall): RealtimeWrites {
    const ticketOf = (id: string, { ticket, expires }: { ticket: string; expires: number }): RealtimeTicket => ({
      ticket,
      ticket_expires_at: expires,
      socket_url: `${this.#base}/api/v1/realtime/sessions/${id}/socket`,
    });
    return {
      createSession: async (websites) => {
        const { authority } = caller;
        const sites = sitesOf(authority, websites ?? [...authority.websites.keys()]);
        const id = `rts_${randomBytes(16).toString('hex')}`;
        const { ticket, digest } = newTicket();
        const done = await caller.take(
          createSession(access, { id, origin, sites, ticket: digest }, draft?.(undefined)),
        );
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
        const done = await caller.take(createTicket(access, { id, origin, ticket: digest }, draft?.(undefined)));
        return ticketOf(id, { ticket, expires: done.ticket_expires_at });
      },
      closeSession: async (id) => {
        await caller.take(closeSession(access, { id, origin }, draft?.(undefined)));
      },
    };
  }
}

function newTicket(): { ticket: string; digest: Buffer } {
  const ticket = randomBytes(32).toString('base64url');
  return { ticket, digest: createHash('sha256').update(ticket).digest() };
}
