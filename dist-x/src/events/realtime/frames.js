import { z } from 'zod';
import { SubscriptionId } from '../../core/ids.js';
import { CURSOR_MAX } from '../cursors.js';
/** Frames of a realtime socket are JSON objects with a `type`. */
const id = z.union([z.string().min(1).max(64), z.int()]);
const subscription_id = SubscriptionId;
const cursor = z.string().min(1).max(CURSOR_MAX);
const ClientFrame = z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('attach'), id, subscription_id, after: cursor.optional() }),
    z.strictObject({ type: z.literal('ack'), subscription_id, cursor }),
    z.strictObject({ type: z.literal('detach'), subscription_id }),
    z.strictObject({ type: z.literal('ping'), id }),
]);
export const readFrame = (value) => ClientFrame.safeParse(value).data;
/** WebSocket close codes (RFC 6455, section 7.4.1) and their reasons. */
export const CLOSE = {
    closed: [1000, 'the session was closed'],
    policy: [1008, 'the acknowledged cursor is not that of the open page'],
    flood: [1008, 'too many frames'],
    replaced: [1008, 'another socket of the session was opened'],
    restart: [1012, 'the gateway restarts'],
    frame: [4400, 'not a frame of this protocol'],
    authority: [4401, 'the authority of the session has ended'],
    unknown: [4404, 'the session or a subscription is gone'],
    silent: [4408, 'a page was not acknowledged in time'],
    changed: [4409, 'a subscription was replaced or its history is no longer kept'],
    quota: [4429, 'the app’s quota is used up'],
    unavailable: [4503, 'the gateway cannot stream now'],
};
/** Failures that end a stream, and the reason with which the gateway then closes the socket. */
export const LOST = {
    not_found: 'unknown',
    revision_changed: 'changed',
    replay_expired: 'changed',
    invalid_cursor: 'changed',
    quota_exceeded: 'quota',
    subscription_corrupt: 'unavailable',
};
//# sourceMappingURL=frames.js.map