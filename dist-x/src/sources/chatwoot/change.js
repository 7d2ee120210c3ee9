import { z } from 'zod';
import { NotPerformed } from '../helpdesk.js';
/** The words of Chatwoot in the order of its numbers, with the words of the gateway. */
const STATUSES = [
    ['open', 'open'],
    ['resolved', 'closed'],
    ['pending', 'pending'],
    ['snoozed', 'snoozed'],
];
const statusOf = (word) => STATUSES.find(([own]) => own === word)?.[1] ?? '';
export const statusOfNumber = (number) => STATUSES[Number(number)]?.[0];
/** The answer of the API with a conversation. The assignee can be a bot, which is no operator of a conversation. */
const Shown = z.object({
    status: z.enum(STATUSES.map(([own]) => own)),
    meta: z.object({
        assignee_type: z.string().nullish(),
        assignee: z.object({ id: z.int().min(1) }).nullish(),
        team: z.object({ id: z.int().min(1) }).nullish(),
    }),
});
export function stateIn(answer) {
    const { status, meta } = Shown.parse(answer);
    const isUser = (meta.assignee_type ?? 'User') === 'User';
    return {
        status,
        operator: isUser ? meta.assignee?.id.toString() : undefined,
        team: meta.team?.id.toString(),
        at: undefined,
    };
}
/** The number in an external_id of this account. A record of another origin cannot go to Chatwoot. */
export function idIn(target, account, word) {
    const [, id] = new RegExp(`^cw:${account}:${word}:(\\d{1,18})$`).exec(target) ?? [];
    if (id === undefined)
        throw new NotPerformed({ rejected: 'operation_conflict' }, 'the record is not of Chatwoot');
    return id;
}
export function inDesk(change, account) {
    if ('team' in change)
        return { team: Number(idIn(change.team, account, 'team')) };
    if ('operator' in change)
        return { operator: change.operator === null ? null : Number(idIn(change.operator, account, 'operator')) };
    const { status, until } = change;
    const word = STATUSES.find(([, ours]) => ours === status)?.[0];
    if (word === undefined)
        throw new NotPerformed({ rejected: 'operation_conflict' }, 'Chatwoot has no such status');
    return { status: word, until: until === undefined ? undefined : Math.ceil(Date.parse(until) / 1000) };
}
/** The request with the effect. Chatwoot reads `snoozed_until` from a text. */
export function requestOf(change) {
    if ('team' in change)
        return { end: 'assignments', body: { team_id: change.team } };
    if ('operator' in change)
        return { end: 'assignments', body: { assignee_id: change.operator } };
    const until = change.until === undefined ? {} : { snoozed_until: String(change.until) };
    return { end: 'toggle_status', body: { status: change.status, ...until } };
}
export function isThere(change, { status, operator, team }) {
    if ('team' in change)
        return team === String(change.team);
    if ('operator' in change)
        return operator === (change.operator === null ? undefined : String(change.operator));
    return status === change.status;
}
/**
 * What the mark says about the effect, which comes later: the value that shows it, and for a status the operator of
 * before. Only the status itself is looked up. So of a conversation that is snoozed already, nothing shows a new time.
 */
export function proofOf(change, before) {
    if ('team' in change)
        return `team:${change.team}`;
    if ('operator' in change)
        return `operator:${change.operator ?? NONE}`;
    return change.until !== undefined && isThere(change, before)
        ? 'unseen'
        : `status:${change.status}:${before.operator ?? NONE}`;
}
const NONE = 'none';
const PROOF = /^op_[0-9a-f]{32}:(?:(status):([a-z]+):(\d+|none)|(operator|team):(\d+|none))$/;
/** Returns the change that a mark tells of, if this state shows it. Undefined if it does not. */
export function seenIn(mark, state, account) {
    const [, status, word = '', before, kind, id = ''] = PROOF.exec(mark) ?? [];
    if (status !== undefined && word === state.status)
        return sentChange(state, account, before !== (state.operator ?? NONE));
    const shown = kind === 'operator' ? state.operator : state.team;
    return kind !== undefined && id === (shown ?? NONE) ? sentChange(state, account, false) : undefined;
}
export const sentChange = ({ status, operator, team, at }, account, reassigned) => ({
    ...{ status: statusOf(status), at, reassigned },
    operator: operator === undefined ? undefined : `cw:${account}:operator:${operator}`,
    team: team === undefined ? undefined : `cw:${account}:team:${team}`,
});
//# sourceMappingURL=change.js.map