import type postgres from 'postgres';
import { phoneToE164 } from '../../../src/sources/engine/text.ts';
import { emptyWorld, type Member, type Row, type Stored, type World } from './difference.ts';
import { cut, fits, type Key, messages, some } from './oracle-messages.ts';
import { type Chat, readChat } from './read.ts';

/*
 * The oracle computes what the gateway must hold for an account at rest. It reads Chatwoot's tables with its own SQL and
 * shares no code with the connector. Where the mapping leaves something open, the oracle decides:
 *  1. A reference to a row that Chatwoot does not have any more is absent. The record stays.
 *  2. A record that refers to a refused record is refused too, also by a contact of a list. But a reply to a message whose
 *     text is too long stays, and has no in_reply_to.
 *  3. A contact with a last name has the name "name last_name", first_name name and last_name last_name. The middle name
 *     has no place. Without a last name, first_name and last_name are absent. An empty text is absent everywhere.
 *  4. The country is the column country_code, else additional_attributes.country_code, in upper case, where it is two
 *     letters. The telephone number is compared in E.164 with this country.
 *  5. An operator has no e-mail. Role 1 is admin, every other role is operator. An empty display_name is no name.
 *  6. A message, a note or an assignment can name a user who has left the account. Such a user is a disabled operator
 *     with the role operator and no teams. Without such a trace the operator can be present or absent.
 *  7. A bot or assistant is an operator if it wrote a message in the account. Without a message it can be present, if it
 *     wrote one earlier. A deleted user or bot is absent, because Chatwoot removes it as the sender of its messages.
 *  8. A visitor belongs to the account of its inbox, has no nickname and is not blocked.
 *  9. A language that is no BCP 47 tag is absent. An unknown channel type, or no inbox, gives the platform unknown.
 * 10. The newest event and the newest survey response have the latest created_at, then the highest id.
 * 11. The rating's label is the feedback. Without feedback, the label is the value in digits.
 * 12. The kind of a message: event for type 2. Otherwise attachment_only, if the message has no text and a row in
 *     attachments, with or without a blob. Otherwise html for content type 8, form for 6, text for the rest.
 * 13. A template by a bot or an assistant is the bot's, every other template is the system's. An outgoing message whose
 *     sender is neither a user nor a bot is the system's.
 * 14. A deleted message has neither text nor in_reply_to. Its time is created_at, because Chatwoot forgets the
 *     attributes. A time in external_created_at counts as digits, in a number or in a string.
 * 15. edited_at, ai_generated, title, width, height and duration have no source and keep their defaults.
 * 16. A blob without a media type is application/octet-stream. The content of a file is not compared.
 * 17. The website follows the name of the account. The name of the organization is not compared.
 * 18. A disposition is the gateway's own and not compared. The saved response of an unknown locale has language en.
 * 19. A name, company, subject, label, feedback or file name with too many UTF-16 units keeps the first units and ends
 *     with an ellipsis. Surrogate pairs are not split. An e-mail address, a telephone number or a shortcut with too many
 *     units is absent. Longer texts of messages, notes and saved responses make a refused record.
 */

export interface Asked {
  readonly account: number;
  /** The time zone of the source. The default is UTC. */
  readonly timeZone?: string;
}

const PLATFORMS: Readonly<Record<string, string>> = {
  WebWidget: 'chat',
  Email: 'email',
  Api: 'api',
  Whatsapp: 'whatsapp',
  FacebookPage: 'messenger',
  Instagram: 'instagram',
  Telegram: 'telegram',
  Line: 'line',
  Sms: 'sms',
  TwilioSms: 'sms',
  Voice: 'voice',
};
const LOCALES =
  'en ar nl fr de hi it ja ko pt ru zh es ml ca el pt-BR ro ta fa zh-TW vi da tr cs fi id sv hu no zh-CN pl sk uk th lv is he lt sr bg'.split(
    ' ',
  );
const LANGUAGE = /^[a-zA-Z]{2,3}(?:-[a-zA-Z0-9]{2,8}){0,3}$/;

const list = (ids: readonly (string | null)[]): readonly string[] => ids.filter((id) => id !== null).sort();

/** What the gateway must hold for the account, by type and external id. */
export async function expected(sql: postgres.Sql, { account, timeZone = 'UTC' }: Asked): Promise<World> {
  const chat = await readChat(sql, account);
  const world = emptyWorld();
  const { owner } = chat;
  if (owner === undefined) return world;
  const key = (type: string, id: number | string): string => `cw:${account}:${type}:${id}`;
  const put = (type: Stored, id: string, members: Row, optional = false): void => {
    world[type].set(id, { members, optional });
  };
  put('organization', key('organization', account), {});
  put('website', key('website', account), { name: cut(owner.name, 240), time_zone: timeZone, crm_integrated: false });

  for (const { id, name, channel_type } of chat.inboxes.values()) {
    const platform = platformOf(channel_type);
    put('channel', key('channel', id), { name: cut(some(name), 240), platform });
  }
  for (const { id, name } of chat.teams.values()) {
    put('team', key('team', id), { name: cut(some(name), 240), enabled: true });
  }
  operators(chat, (type, id, members, optional) => put('operator', key(type, id), members, optional), key);
  for (const { id, short_code, content } of chat.responses) {
    if (short_code === null || short_code === '' || !fits(content, 200_000)) continue;
    put('saved_response', key('saved_response', id), {
      language: LOCALES[owner.locale ?? 0] ?? 'en',
      label: cut(short_code, 240),
      content: content ?? '',
      category_name: 'Chatwoot',
      shortcut: fits(short_code, 120) ? short_code : null,
      platform_id: -1,
      scope: 'global',
    });
  }
  for (const one of chat.contacts.values()) {
    put('contact', key('contact', one.id), contactOf(one));
  }
  for (const one of chat.visitors.values()) {
    // The link to an existing contact must be there, even if the contact is refused.
    const link = chat.contacts.has(Number(one.contact_id)) ? key('contact', Number(one.contact_id)) : null;
    if (link !== null && !world.contact.has(link)) continue;
    put('visitor', key('visitor', one.id), {
      nickname: null,
      blocked: false,
      contacts: list([link]),
      created_at: one.created_at,
      last_seen_at: one.last_seen_at,
    });
  }
  conversations(chat, world, key);
  messages(chat, world, key);
  for (const note of chat.notes) {
    const author = note.user_id === null || !chat.users.has(note.user_id) ? null : key('operator', note.user_id);
    if (author !== null && !world.operator.has(author)) continue;
    if (note.content === '' || note.content.length > 200_000 || !chat.contacts.has(note.contact_id)) continue;
    for (const visitor of chat.visitors.values()) {
      if (visitor.contact_id !== note.contact_id || !world.visitor.has(key('visitor', visitor.id))) continue;
      put('note', `${key('note', note.id)}:${visitor.id}`, {
        visitor: key('visitor', visitor.id),
        operator: author,
        title: null,
        text: note.content,
        created_at: note.created_at,
      });
    }
  }
  return world;
}

const platformOf = (type: string | null | undefined): string =>
  PLATFORMS[/^Channel::(\w+)$/.exec(type ?? '')?.[1] ?? ''] ?? 'unknown';

function operators(
  chat: Chat,
  put: (type: string, id: number, members: Row, optional: boolean) => void,
  key: Key,
): void {
  const was = (type: string, id: number): boolean => chat.past.has(`${type} ${id}`);
  for (const user of chat.users.values()) {
    const place = chat.agents.get(user.id);
    const traced = chat.authors.has(`User ${user.id}`);
    if (place === undefined && !traced && !was('operator', user.id)) continue;
    const name = some(user.display_name) ?? some(user.name);
    if (name === null) continue;
    const teams = place === undefined ? [] : chat.members.filter((one) => one.user_id === user.id);
    const members: Row = {
      name: cut(name, 120),
      email: null,
      role: place?.role === 1 ? 'admin' : 'operator',
      enabled: place !== undefined,
      teams: list(teams.map((one) => key('team', one.team_id))),
    };
    put('operator', user.id, members, place === undefined && !traced);
  }
  for (const bot of chat.bots) {
    const traced = chat.authors.has(`${bot.type} ${bot.id}`);
    const type = bot.type === 'AgentBot' ? 'agent_bot' : 'assistant';
    const name = some(bot.name);
    if ((!traced && !was(type, bot.id)) || name === null) continue;
    put(type, bot.id, { name: cut(name, 120), email: null, role: 'bot', enabled: true, teams: [] }, !traced);
  }
}

function contactOf(one: Chat['contacts'] extends ReadonlyMap<number, infer C> ? C : never): Row {
  const last = some(one.last_name);
  const first = some(one.name);
  const name = last === null ? first : [first, last].filter((part) => part !== null).join(' ');
  const email = fits(one.email, 320) ? some(one.email) : null;
  const mobile = fits(one.phone_number, 40) ? some(one.phone_number) : null;
  const extra = one.additional_attributes ?? {};
  const country = [one.country_code, extra['country_code']].find(
    (code): code is string => typeof code === 'string' && /^[A-Za-z]{2}$/.test(code),
  );
  const company = some(extra['company_name']);
  const upper = country?.toUpperCase();
  const split = last === null ? null : first;
  return {
    name: cut(name, 240),
    first_name: cut(split, 120),
    last_name: cut(last, 120),
    email,
    mobile,
    mobile_e164: phoneToE164(mobile ?? undefined, upper),
    phone: null,
    company: cut(company, 240),
    language: null,
    country: upper ?? null,
    time_zone: null,
    blocked: one.blocked,
    deleted: false,
    created_at: one.created_at,
    updated_at: null,
  };
}

function conversations(chat: Chat, world: World, key: Key): void {
  for (const one of chat.conversations.values()) {
    const at = (type: string, id: number | null, known: ReadonlyMap<number, unknown>): string | null =>
      id !== null && known.has(id) ? key(type, id) : null;
    const inbox = chat.inboxes.get(one.inbox_id);
    const refs = {
      visitor: at('visitor', one.contact_inbox_id, chat.visitors),
      channel: at('channel', one.inbox_id, chat.inboxes),
      team: at('team', one.team_id, chat.teams),
      operator: at('operator', one.assignee_id, chat.users),
    };
    const contact = at('contact', one.contact_id, chat.contacts);
    const unknown = Object.entries(refs).some(([type, id]) => id !== null && !world[type as keyof typeof refs].has(id)); // the entries have the keys of refs
    const extra = one.additional_attributes ?? {};
    const subject = some(extra['mail_subject']);
    const language = some(extra['conversation_language']);
    if (unknown || (contact !== null && !world.contact.has(contact))) continue;
    const status = ['unassigned', 'closed', 'pending', 'snoozed'][one.status] ?? 'unassigned';
    const { rating } = one;
    const members: Record<string, Member> = {
      ...refs,
      contacts: list([contact]),
      status: one.status === 0 && one.assignee_id !== null ? 'assigned' : status,
      platform: platformOf(inbox?.channel_type),
      language: language !== null && LANGUAGE.test(language) ? language : null,
      subject: cut(subject, 2000),
      rating_label: rating === null ? null : cut(some(rating.feedback) ?? String(rating.value), 120),
      rating_score: rating?.value ?? null,
      created_at: one.created_at,
      updated_at: one.updated_at > one.last_activity_at ? one.updated_at : one.last_activity_at,
      first_response_at: one.first_reply_created_at,
      closed_at: one.status === 1 ? (one.resolved_at ?? one.updated_at) : null,
    };
    world.conversation.set(key('conversation', one.id), { members, optional: false });
  }
}
