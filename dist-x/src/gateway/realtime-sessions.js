import { createHash, randomBytes } from 'node:crypto';
import { Failure } from '../core/failures.js';
import { HEARTBEAT, MAX_ATTACHED, PROTOCOL, } from '../core/realtime-session.js';
import { closeSession, createSession, createTicket } from '../store/events/realtime-sessions.js';
export class RealtimeSessions {
    #base;
    constructor(baseUrl) {
        this.#base = baseUrl.replace(/^http/, 'ws');
    }
    writes({ caller, access, origin = '', draft }) {
        const ticketOf = (id, { ticket, expires }) => ({
            ticket,
            ticket_expires_at: expires,
            socket_url: `${this.#base}/api/v1/realtime/sessions/${id}/socket`,
        });
        return {
            createSession: async (websites) => {
                const { websites: granted } = caller.authority;
                const sites = (websites ?? [...granted.keys()]).map((id) => {
                    const website = granted.get(id);
                    if (!website)
                        throw new Failure('not_found', { outside: true });
                    return website.site;
                });
                const id = `rts_${randomBytes(16).toString('hex')}`;
                const { ticket, digest } = newTicket();
                const done = await caller.take(createSession(access, { id, origin, sites, ticket: digest }, draft?.(undefined)));
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
function newTicket() {
    const ticket = randomBytes(32).toString('base64url');
    return { ticket, digest: createHash('sha256').update(ticket).digest() };
}
//# sourceMappingURL=realtime-sessions.js.map