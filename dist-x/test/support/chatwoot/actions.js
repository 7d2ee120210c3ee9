import { pickFrom } from '../random.js';
import { agent, any, begin, bring, CHANNELS, change, contact, conversation, extraOf, hold, incoming, message, on, outgoing, person, refusedRow, remember, spare, } from './actions-parts.js';
import * as rails from './rails.js';
import * as desk from './rails-desk.js';
import * as destroy from './rails-destroy.js';
import { chance, fileNames, html, longText, personName, sentence, whole } from './words.js';
/** The kinds of actions, with their weight in the mix. */
export const ACTIONS = {
    incoming: [300, on(conversation, incoming)],
    outgoing: [240, on(conversation, outgoing)],
    private: [40, on(conversation, (w, id, s) => outgoing(w, id, s, { private: true }))],
    bot: [
        60,
        on((s, w) => any(s.bots, w), async (w, bot, s) => {
            const id = conversation(s, w);
            const sender = { type: bot.assistant ? 'Captain::Assistant' : 'AgentBot', id: bot.id };
            if (id === undefined)
                return;
            await remember(w, s.account, bot.assistant ? 'assistant' : 'agent_bot', bot.id);
            await outgoing(w, id, s, {
                sender,
                type: chance(w.random, 0.2) ? 3 : 1,
                contentType: pickFrom([0, 0, 4, 6], w.random),
            });
        }),
    ],
    template: [
        30,
        on(conversation, (w, id) => rails.createMessage(w, {
            conversation: id,
            type: 3,
            content: 'We are back at nine',
            contentType: pickFrom([0, 9, 3], w.random),
        })),
    ],
    email: [60, on(conversation, (w, id, s) => incoming(w, id, s, { contentType: 8, content: html(w.random) }))],
    long: [4, on(conversation, (w, id, s) => outgoing(w, id, s, { content: longText(w.random) }))],
    attachment: [
        40,
        on(conversation, (w, id, s) => incoming(w, id, s, {
            content: pickFrom([null, ''], w.random),
            files: [{ name: pickFrom(fileNames, w.random), mediaType: 'image/png', size: 9 }],
        })),
    ],
    location: [
        5,
        on(conversation, (w, id, s) => incoming(w, id, s, { content: null, files: [{ name: null, mediaType: null, size: 0 }] })),
    ],
    deliver: [80, on(message, (w, id) => rails.deliver(w, id, 1 + whole(w.random, 3)))],
    seen: [40, on(conversation, rails.seen)],
    looked: [40, on(conversation, rails.looked)],
    softDelete: [25, on(message, rails.softDelete)],
    edit: [25, on(message, (w, id) => rails.edit(w, id, sentence(w.random)))],
    begin: [60, begin],
    contact: [
        30,
        on((s, w) => any(s.inboxes, w), (w, inbox, s) => rails.createContact(w, inbox, person(w, s.account))),
    ],
    visit: [12, on(contact, async (w, id, s) => rails.visit(w, id, any(s.inboxes, w) ?? 0))],
    changeAccount: [
        1,
        async (w, s) => {
            await desk.changeAccount(w, s.account, `Account ${whole(w.random, 1e6)}`, whole(w.random, 40));
            return true;
        },
    ],
    import: [12, bring],
    assign: [60, on(conversation, (w, id, s) => desk.assign(w, id, agent(s, w) ?? null))],
    unassign: [20, on(conversation, (w, id) => desk.assign(w, id, null))],
    team: [
        30,
        on(conversation, (w, id, s) => desk.toTeam(w, id, any(s.teams, w) ?? null, chance(w.random, 0.5) ? (agent(s, w) ?? null) : null)),
    ],
    resolve: [50, on(conversation, (w, id) => desk.resolve(w, id, chance(w.random, 0.5), chance(w.random, 0.1)))],
    reopen: [20, on(conversation, desk.reopen)],
    snooze: [12, on(conversation, desk.snooze)],
    pend: [8, on(conversation, desk.pend)],
    describe: [10, on(conversation, (w, id) => desk.describe(w, id, extraOf(w)))],
    prioritize: [8, on(conversation, (w, id) => desk.prioritize(w, id, whole(w.random, 4)))],
    rate: [
        25,
        on(conversation, (w, id) => desk.rate(w, id, 1 + whole(w.random, 5), pickFrom([null, '', 'good', 'slow '.repeat(40), sentence(w.random)], w.random))),
    ],
    label: [15, on(conversation, (w, id, s) => desk.label(w, s.account, id, `label-${whole(w.random, 20)}`))],
    addNote: [
        15,
        on(contact, async (w, id, s) => {
            const user = agent(s, w);
            if (user !== undefined)
                await desk.addNote(w, id, user, sentence(w.random));
        }),
    ],
    editNote: [6, on(contact, (w, id) => desk.editNote(w, id, sentence(w.random)))],
    removeNote: [4, on(contact, desk.removeNote)],
    addResponse: [
        4,
        async (w, s) => {
            await desk.addResponse(w, s.account, `code-${whole(w.random, 1e9)}`, sentence(w.random));
            return true;
        },
    ],
    editResponse: [
        4,
        async (w, s) => {
            await desk.editResponse(w, s.account, sentence(w.random));
            return true;
        },
    ],
    removeResponse: [
        3,
        async (w, s) => {
            await desk.removeResponse(w, s.account);
            return true;
        },
    ],
    changeContact: [40, on(contact, change)],
    block: [6, on(contact, (w, id) => desk.changeContact(w, id, { blocked: chance(w.random, 0.5) }))],
    merge: [
        12,
        on(contact, async (w, id, s) => {
            const other = contact(s, w);
            if (other !== undefined && other !== id)
                await destroy.mergeContacts(w, id, other);
        }),
    ],
    destroyConversation: [8, on(conversation, destroy.destroyConversation)],
    destroyContact: [4, on((s, w) => spare(s.contacts, 5, w), destroy.destroyContact)],
    destroyInbox: [1, on((s, w) => (s.inboxes.length > 8 ? any(s.smallInboxes, w) : undefined), destroy.destroyInbox)],
    addInbox: [
        2,
        async (w, s) => {
            if (s.inboxes.length < 16)
                await destroy.addInbox(w, s.account, `Channel::${pickFrom(CHANNELS, w.random)}`, `Inbox ${whole(w.random, 1e6)}`);
            return true;
        },
    ],
    renameInbox: [
        2,
        on((s, w) => any(s.inboxes, w), (w, id) => destroy.renameInbox(w, id, `Inbox ${sentence(w.random)}`)),
    ],
    addAgent: [
        4,
        async (w, s) => {
            if (s.agents.length < 30)
                await desk.addAgent(w, s.account, personName(w.random), whole(w.random, 2));
            return true;
        },
    ],
    renameAgent: [4, on(agent, (w, id) => desk.renameAgent(w, id, pickFrom(['', personName(w.random)], w.random)))],
    setRole: [3, on(agent, (w, id, s) => desk.setRole(w, s.account, id, whole(w.random, 2)))],
    online: [15, on(agent, (w, id, s) => desk.online(w, s.account, id))],
    removeAgent: [
        3,
        on((s, w) => (s.agents.length > 6 ? any(s.agents.slice(0, 5), w) : undefined), async (w, id, s) => {
            await remember(w, s.account, 'operator', id);
            await desk.removeAgent(w, s.account, id);
        }),
    ],
    destroyUser: [1, on((s, w) => (s.agents.length > 6 ? any(s.agents.slice(0, 5), w) : undefined), destroy.destroyUser)],
    addBot: [
        2,
        async (w, s) => {
            if (s.bots.length < 8)
                await desk.addBot(w, s.account, chance(w.random, 0.5), `Bot ${whole(w.random, 1e6)}`);
            return true;
        },
    ],
    renameBot: [
        2,
        on((s, w) => any(s.bots, w), (w, bot) => desk.renameBot(w, bot.assistant, bot.id, `Bot ${whole(w.random, 1e6)}`)),
    ],
    destroyBot: [
        1,
        on((s, w) => spare(s.bots.filter((one) => one.own), 1, w), (w, bot) => destroy.destroyBot(w, bot.assistant, bot.id)),
    ],
    addTeam: [
        2,
        async (w, s) => {
            if (s.teams.length < 10)
                await desk.addTeam(w, s.account, `team ${whole(w.random, 1e9)}`);
            return true;
        },
    ],
    renameTeam: [
        2,
        on((s, w) => any(s.teams, w), (w, id) => desk.renameTeam(w, id, `team ${whole(w.random, 1e9)}`)),
    ],
    joinTeam: [
        5,
        on((s, w) => any(s.teams, w), async (w, team, s) => desk.joinTeam(w, team, agent(s, w) ?? 0)),
    ],
    leaveTeam: [
        3,
        on((s, w) => any(s.teams, w), async (w, team, s) => desk.leaveTeam(w, team, agent(s, w) ?? 0)),
    ],
    destroyTeam: [1, on((s, w) => spare(s.teams, 2, w), destroy.destroyTeam)],
    refused: [2, refusedRow],
    repair: [
        2,
        async (w, s) => {
            await desk.repair(w, s.account);
            return true;
        },
    ],
    lateMessage: [3, on(conversation, (w, id, s) => incoming(w, id, s, { hold: hold(w) }))],
    lateBegin: [2, (w, s) => begin(w, s, hold(w))],
};
//# sourceMappingURL=actions.js.map