import { pickFrom } from '../random.ts';
import type { NewFile, NewMessage, Rails } from './rails.ts';
import * as rails from './rails.ts';
import * as desk from './rails-desk.ts';
import * as destroy from './rails-destroy.ts';
import { cw, railsTime } from './script.ts';
import type { State } from './state.ts';
import { chance, fileNames, html, mediaTypes, personName, sentence, whole } from './words.ts';

/** Does one action in an account. Returns false if the account has no row for the action. */
type Act = (world: Rails, state: State) => Promise<boolean>;

const CHANNELS =
  'WebWidget Email Api Whatsapp FacebookPage Instagram Telegram Line Sms TwilioSms Voice TwitterProfile'.split(' ');
const YEAR = 365 * 24 * 3_600_000;

const past = (world: Rails): string => railsTime(Date.now() - whole(world.random, 3 * YEAR), whole(world.random, 1000));

/** Remembers who belonged to the account. The oracle cannot see this in Chatwoot's tables when nothing of them is left. */
const remember = (world: Rails, account: number, type: string, id: number): Promise<unknown> =>
  world.commit(
    cw`INSERT INTO simulated.past (account_id, type, id) VALUES (${account}, ${type}, ${id}) ON CONFLICT DO NOTHING`,
  );

/** Makes an action on rows that `choose` finds. */
function on<T>(
  choose: (state: State, world: Rails) => T | undefined,
  act: (world: Rails, one: T, state: State) => Promise<unknown>,
): Act {
  return async (world, state) => {
    const one = choose(state, world);
    if (one === undefined) return false;
    await act(world, one, state);
    return true;
  };
}

const any = <T>(list: readonly T[], world: Rails): T | undefined =>
  list.length === 0 ? undefined : pickFrom(list, world.random);
const contact = (state: State, world: Rails) => any(state.contacts, world);
const conversation = (state: State, world: Rails) => any(state.conversations, world)?.id;
const message = (state: State, world: Rails) => any(state.messages, world)?.id;
const agent = (state: State, world: Rails) => any(state.agents, world);
/** Agents, teams and inboxes can be removed while enough of them remain. */
const spare = <T>(list: readonly T[], least: number, world: Rails): T | undefined =>
  list.length > least ? any(list, world) : undefined;

function files(world: Rails): NewFile[] {
  if (!chance(world.random, 0.15)) return [];
  return Array.from({ length: 1 + whole(world.random, 3) }, () => ({
    name: chance(world.random, 0.1) ? null : pickFrom(fileNames, world.random),
    mediaType: pickFrom(mediaTypes, world.random),
    size: whole(world.random, 1e7),
  }));
}

/** The attributes of a message: a reply to a message of this or of another conversation, or none. */
function extras(world: Rails, state: State, id: number): Pick<NewMessage, 'attributes' | 'twice'> {
  const near = state.messages.filter((one) => one.conversation === id);
  const to = chance(world.random, 0.9) ? any(near, world) : any(state.messages, world);
  const reply =
    to !== undefined && chance(world.random, 0.25)
      ? { in_reply_to: chance(world.random, 0.8) ? to.id : String(to.id) }
      : {};
  return { attributes: { ...reply }, twice: chance(world.random, 0.85) };
}

const incoming = async (world: Rails, id: number, state: State, more: Partial<NewMessage> = {}): Promise<unknown> => {
  const from = state.conversations.find((one) => one.id === id)?.contact ?? null;
  return rails.createMessage(world, {
    conversation: id,
    type: 0,
    content: sentence(world.random),
    sender: from === null ? undefined : { type: 'Contact', id: from },
    files: files(world),
    ...extras(world, state, id),
    ...more,
  });
};

const outgoing = async (world: Rails, id: number, state: State, more: Partial<NewMessage> = {}): Promise<unknown> => {
  const user = agent(state, world);
  return rails.createMessage(world, {
    conversation: id,
    type: 1,
    content: sentence(world.random),
    sender: user === undefined || chance(world.random, 0.03) ? undefined : { type: 'User', id: user },
    files: files(world),
    ...extras(world, state, id),
    ...more,
  });
};

const extraOf = (world: Rails): object => ({
  ...(chance(world.random, 0.3) ? { mail_subject: `Re: ${sentence(world.random, 0)}`.slice(0, 300) } : {}),
  ...(chance(world.random, 0.3)
    ? { conversation_language: pickFrom(['en', 'de', 'pt-BR', 'zh-CN'], world.random) }
    : {}),
  browser: { browser_name: 'Firefox' },
});

const attributesOf = (world: Rails): object => ({
  ...(chance(world.random, 0.4) ? { company_name: `Company ${whole(world.random, 1e4)}` } : {}),
  ...(chance(world.random, 0.4)
    ? { country_code: pickFrom(['AT', 'de', 'Brazil', 'USA'], world.random), city: 'Vienna' }
    : {}),
});

const person = (world: Rails, account: number): rails.NewContact => ({
  account,
  name: chance(world.random, 0.1) ? '' : personName(world.random),
  ...(chance(world.random, 0.2) ? { lastName: `Last ${whole(world.random, 999)}` } : {}),
  email: chance(world.random, 0.7) ? `c${whole(world.random, 1e9)}@example.com` : null,
  phone: chance(world.random, 0.5) ? `+4366${1e7 + whole(world.random, 8e7)}` : null,
  country: pickFrom(['', '', 'AT', 'us', 'Germany'], world.random),
  extra: attributesOf(world),
});

/** Rows that the import schemas refuse. Each is refused from its first moment, so nothing of it may ever be stored. */
async function refusedRow(world: Rails, state: State): Promise<boolean> {
  const { account } = state;
  const [inbox, id] = [any(state.inboxes, world), conversation(state, world)];
  const long = `${'refused '.repeat(31)}${whole(world.random, 1e9)}`;
  const kind = whole(world.random, 5);
  if (kind === 0 && inbox !== undefined) {
    const made = await rails.createContact(world, inbox, { account, name: long });
    const began = made === null ? null : await rails.createConversation(world, { contactInbox: made });
    if (began !== null)
      await rails.createMessage(world, { conversation: began, type: 0, content: 'of a refused contact' });
  } else if (kind === 1 && inbox !== undefined) {
    await rails.createContact(world, inbox, {
      account,
      name: 'refused',
      email: `${'e'.repeat(330)}${whole(world.random, 1e9)}@example.com`,
    });
  } else if (kind === 2) {
    await desk.addResponse(
      world,
      account,
      `refused ${'c'.repeat(130)}${whole(world.random, 1e9)}`,
      'a short code of more than 120 characters',
    );
  } else if (kind === 3 && inbox !== undefined) {
    await rails.createContact(world, inbox, { account, name: 'refused', phone: `+${'9'.repeat(50)}` });
  } else if (id !== undefined) {
    await rails.createMessage(world, { conversation: id, type: 0, content: 'x'.repeat(1_000_001) });
  }
  return true;
}

async function begin(world: Rails, state: State, hold?: number): Promise<boolean> {
  const contactInbox = any(state.contactInboxes, world);
  if (contactInbox === undefined) return false;
  const assignee = chance(world.random, 0.4) ? (agent(state, world) ?? null) : null;
  const made = await rails.createConversation(world, {
    contactInbox,
    status: chance(world.random, 0.1) ? 2 : 0,
    extra: extraOf(world),
    assignee,
    ...(hold === undefined ? {} : { hold }),
  });
  if (made !== null) await incoming(world, made, state);
  return true;
}

/** An import by SQL or API: old times, sometimes with the source's time in the attributes. */
async function bring(world: Rails, state: State): Promise<boolean> {
  const contactInbox = any(state.contactInboxes, world);
  if (contactInbox === undefined) return false;
  const old = past(world);
  const made = await rails.createConversation(world, {
    contactInbox,
    status: 1,
    createdAt: old,
    extra: extraOf(world),
  });
  const id = chance(world.random, 0.6) ? made : (conversation(state, world) ?? null);
  if (id === null) return true;
  for (let i = 0; i < 3; i++) {
    const seconds = Math.floor((Date.now() - whole(world.random, YEAR)) / 1000);
    const external = chance(world.random, 0.5) ? seconds : String(seconds);
    const bySql = chance(world.random, 0.3);
    const given = chance(world.random, 0.6)
      ? { attributes: { external_created_at: external } }
      : { createdAt: past(world) };
    await incoming(world, id, state, { ...given, bySql });
  }
  return true;
}

async function change(world: Rails, id: number): Promise<void> {
  const fields: readonly desk.ContactChange[] = [
    { name: personName(world.random), last_name: '' },
    { email: `n${whole(world.random, 1e9)}@example.com` },
    { phone_number: `+4366${1e7 + whole(world.random, 8e7)}`, country_code: 'AT' },
    { additional_attributes: JSON.stringify(attributesOf(world)) },
  ];
  await desk.changeContact(world, id, pickFrom(fields, world.random));
}

const hold = (world: Rails): number => 0.5 + Math.round(world.random() * 30) / 10;

/** Every kind of action, with its weight in the mix. */
export const ACTIONS = {
  incoming: [300, on(conversation, incoming)],
  outgoing: [240, on(conversation, outgoing)],
  private: [40, on(conversation, (w, id, s) => outgoing(w, id, s, { private: true }))],
  bot: [
    60,
    on(
      (s, w) => any(s.bots, w),
      async (w, bot, s) => {
        const id = conversation(s, w);
        const sender = { type: bot.assistant ? 'Captain::Assistant' : 'AgentBot', id: bot.id } as const;
        if (id === undefined) return;
        await remember(w, s.account, bot.assistant ? 'assistant' : 'agent_bot', bot.id);
        await outgoing(w, id, s, {
          sender,
          type: chance(w.random, 0.2) ? 3 : 1,
          contentType: pickFrom([0, 0, 4, 6], w.random),
        });
      },
    ),
  ],
  template: [
    30,
    on(conversation, (w, id) =>
      rails.createMessage(w, {
        conversation: id,
        type: 3,
        content: 'We are back at nine',
        contentType: pickFrom([0, 9, 3], w.random),
      }),
    ),
  ],
  email: [60, on(conversation, (w, id, s) => incoming(w, id, s, { contentType: 8, content: html(w.random) }))],
  attachment: [
    40,
    on(conversation, (w, id, s) =>
      incoming(w, id, s, {
        content: pickFrom([null, ''], w.random),
        files: [{ name: pickFrom(fileNames, w.random), mediaType: 'image/png', size: 9 }],
      }),
    ),
  ],
  location: [
    5,
    on(conversation, (w, id, s) =>
      incoming(w, id, s, { content: null, files: [{ name: null, mediaType: null, size: 0 }] }),
    ),
  ],
  deliver: [80, on(message, (w, id) => rails.deliver(w, id, 1 + whole(w.random, 3)))],
  seen: [40, on(conversation, rails.seen)],
  looked: [40, on(conversation, rails.looked)],
  softDelete: [25, on(message, rails.softDelete)],
  edit: [25, on(message, (w, id) => rails.edit(w, id, sentence(w.random)))],
  begin: [60, begin],
  contact: [
    30,
    on(
      (s, w) => any(s.inboxes, w),
      (w, inbox, s) => rails.createContact(w, inbox, person(w, s.account)),
    ),
  ],
  import: [12, bring],
  assign: [60, on(conversation, (w, id, s) => desk.assign(w, id, agent(s, w) ?? null))],
  unassign: [20, on(conversation, (w, id) => desk.assign(w, id, null))],
  team: [
    30,
    on(conversation, (w, id, s) =>
      desk.toTeam(w, id, any(s.teams, w) ?? null, chance(w.random, 0.5) ? (agent(s, w) ?? null) : null),
    ),
  ],
  resolve: [50, on(conversation, (w, id) => desk.resolve(w, id, chance(w.random, 0.5), chance(w.random, 0.1)))],
  reopen: [20, on(conversation, desk.reopen)],
  snooze: [12, on(conversation, desk.snooze)],
  pend: [8, on(conversation, desk.pend)],
  describe: [10, on(conversation, (w, id) => desk.describe(w, id, extraOf(w)))],
  prioritize: [8, on(conversation, (w, id) => desk.prioritize(w, id, whole(w.random, 4)))],
  rate: [
    25,
    on(conversation, (w, id) =>
      desk.rate(
        w,
        id,
        1 + whole(w.random, 5),
        pickFrom([null, '', 'good', 'slow '.repeat(40), sentence(w.random, 0)], w.random),
      ),
    ),
  ],
  label: [15, on(conversation, (w, id, s) => desk.label(w, s.account, id, `label-${whole(w.random, 20)}`))],
  addNote: [
    15,
    on(contact, async (w, id, s) => {
      const user = agent(s, w);
      if (user !== undefined) await desk.addNote(w, id, user, sentence(w.random));
    }),
  ],
  editNote: [6, on(contact, (w, id) => desk.editNote(w, id, sentence(w.random)))],
  removeNote: [4, on(contact, desk.removeNote)],
  addResponse: [
    4,
    async (w, s) => {
      await desk.addResponse(w, s.account, `code-${whole(w.random, 1e9)}`, sentence(w.random, 0));
      return true;
    },
  ],
  editResponse: [
    4,
    async (w, s) => {
      await desk.editResponse(w, s.account, sentence(w.random, 0));
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
      if (other !== undefined && other !== id) await destroy.mergeContacts(w, id, other);
    }),
  ],
  destroyConversation: [8, on(conversation, destroy.destroyConversation)],
  destroyContact: [4, on((s, w) => spare(s.contacts, 20, w), destroy.destroyContact)],
  destroyInbox: [1, on((s, w) => (s.inboxes.length > 8 ? any(s.smallInboxes, w) : undefined), destroy.destroyInbox)],
  addInbox: [
    2,
    async (w, s) => {
      if (s.inboxes.length < 16)
        await destroy.addInbox(
          w,
          s.account,
          `Channel::${pickFrom(CHANNELS, w.random)}`,
          `Inbox ${whole(w.random, 1e6)}`,
        );
      return true;
    },
  ],
  renameInbox: [
    2,
    on(
      (s, w) => any(s.inboxes, w),
      (w, id) => destroy.renameInbox(w, id, `Inbox ${sentence(w.random, 0)}`),
    ),
  ],
  addAgent: [
    4,
    async (w, s) => {
      if (s.agents.length < 30) await desk.addAgent(w, s.account, personName(w.random), whole(w.random, 2));
      return true;
    },
  ],
  renameAgent: [4, on(agent, (w, id) => desk.renameAgent(w, id, pickFrom(['', personName(w.random)], w.random)))],
  setRole: [3, on(agent, (w, id, s) => desk.setRole(w, s.account, id, whole(w.random, 2)))],
  online: [15, on(agent, (w, id, s) => desk.online(w, s.account, id))],
  removeAgent: [
    3,
    on(
      (s, w) => (s.agents.length > 6 ? any(s.agents.slice(0, 5), w) : undefined),
      async (w, id, s) => {
        await remember(w, s.account, 'operator', id);
        await desk.removeAgent(w, s.account, id);
      },
    ),
  ],
  destroyUser: [1, on((s, w) => (s.agents.length > 6 ? any(s.agents.slice(0, 5), w) : undefined), destroy.destroyUser)],
  addBot: [
    2,
    async (w, s) => {
      if (s.bots.length < 8) await desk.addBot(w, s.account, chance(w.random, 0.5), `Bot ${whole(w.random, 1e6)}`);
      return true;
    },
  ],
  renameBot: [
    2,
    on(
      (s, w) => any(s.bots, w),
      (w, bot) => desk.renameBot(w, bot.assistant, bot.id, `Bot ${whole(w.random, 1e6)}`),
    ),
  ],
  destroyBot: [
    1,
    on(
      (s, w) =>
        spare(
          s.bots.filter((one) => one.own),
          2,
          w,
        ),
      (w, bot) => destroy.destroyBot(w, bot.assistant, bot.id),
    ),
  ],
  addTeam: [
    2,
    async (w, s) => {
      if (s.teams.length < 10) await desk.addTeam(w, s.account, `team ${whole(w.random, 1e9)}`);
      return true;
    },
  ],
  renameTeam: [
    2,
    on(
      (s, w) => any(s.teams, w),
      (w, id) => desk.renameTeam(w, id, `team ${whole(w.random, 1e9)}`),
    ),
  ],
  joinTeam: [
    5,
    on(
      (s, w) => any(s.teams, w),
      async (w, team, s) => desk.joinTeam(w, team, agent(s, w) ?? 0),
    ),
  ],
  leaveTeam: [
    3,
    on(
      (s, w) => any(s.teams, w),
      async (w, team, s) => desk.leaveTeam(w, team, agent(s, w) ?? 0),
    ),
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
} as const satisfies Record<string, readonly [weight: number, act: Act]>;

export type Kind = keyof typeof ACTIONS;
