import { z } from 'zod';
import { accepts } from '../core/accepted-values.js';
import { example } from '../core/example.js';
import { Failure } from '../core/failures.js';
import { ConversationId, websiteKey } from '../core/ids.js';
import { shared } from '../core/parameters.js';
import { Rfc3339Time } from '../core/rfc3339.js';
import { rfc3339, Time } from '../core/view.js';
const EDGES = /^\p{White_Space}+|\p{White_Space}+$/gu;
export const trimmed = (text) => text.replace(EDGES, '');
/** A text to write: not blank, at most `max` UTF-16 code units before the spaces at its ends are removed. */
export const writtenText = (max) => 
// JSON Schema counts characters. A text never has more characters than UTF-16 code units, so the JSON Schema never
// refuses a text that this schema accepts.
accepts(z
    .string()
    .min(1)
    .max(max)
    .refine((text) => text.length <= max && trimmed(text) !== ''), `a text of 1 to ${max} UTF-16 code units with more than spaces`);
/** The time of a change, as a writer returns it. */
export const ChangeTime = z.string().transform(rfc3339);
/** Members of every write by policy that changes a conversation. */
export const ofConversation = { conversation_id: ConversationId.schema };
export const ifUnchanged = {
    if_updated_at: shared('if_updated_at', example('2026-10-07T16:24:20.922Z', Rfc3339Time.optional().describe('The updated_at that you have read. If the conversation has changed since, the write fails.'))),
};
export const changedConversation = {
    success: z.literal(true).describe('Result of the write. Always true.'),
    updated_at: Time.describe('New updated_at of the conversation.'),
};
/** The refusal of a member of the body that does not fit the others. */
export const misfit = (member, expected) => new Failure('invalid_parameter', { errors: [{ pointer: `/${member}`, code: 'invalid_parameter', expected }] });
/** The website of a record, as its public id names it. */
export function websiteOfId(id) {
    const [, tenant = '', site = ''] = id.split('_');
    return websiteKey(tenant, site);
}
//# sourceMappingURL=written.js.map