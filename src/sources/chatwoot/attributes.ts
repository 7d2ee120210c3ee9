import { isObject, jsonOf } from '../../core/json.ts';

/** Reads values of Chatwoot that can have many shapes. No function throws. */

type JsonMembers = Readonly<Record<string, unknown>>;

/**
 * Reads `messages.content_attributes`: JSON inside a JSON string (Rails), or the object itself. Else an empty object.
 */
export function contentAttributes(text: string | null): JsonMembers {
  if (text === null) return {};
  const once = jsonOf(text);
  const value = typeof once === 'string' ? jsonOf(once) : once;
  return isObject(value) ? value : {};
}

export function member(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}

/** Returns the text, or undefined for a text that is empty or blank. */
export const filled = (text: unknown): string | undefined =>
  typeof text === 'string' && text.trim() !== '' ? text : undefined;

/** Shortens a text that is too long, and ends it with `…`. Does not cut a surrogate pair in half. */
export const shortened = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/\p{Surrogate}$/u, '')}…`;

/** Returns the text, shortened if it is too long, or undefined for a text that is empty or blank. */
export function brief(text: unknown, max: number): string | undefined {
  const given = filled(text);
  return given === undefined ? undefined : shortened(given, max);
}

/** Returns the text, or undefined if the text is empty, blank or too long. A cut address would be a wrong address. */
export function whole(text: unknown, max: number): string | undefined {
  const given = filled(text);
  return given === undefined || given.length > max ? undefined : given;
}

export const isTrue = (value: unknown): boolean => value === true || value === 'true';

/** Reads an id that is a number or a text of digits. */
export function rowId(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && /^[1-9]\d{0,17}$/.test(text) ? text : undefined;
}

/** From here on, a number counts milliseconds. As seconds, it would lie after the year 5138. */
const MILLISECONDS = 100_000_000_000;
/**
 * How far (ms) ahead a time may lie. Anybody can set a time through a channel's API, and a later one would stay the
 * newest.
 */
const AHEAD = 86_400_000;

/** Reads a time in seconds or milliseconds, as a number or digits. Undefined for a time more than a day ahead. */
export function externalTime(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^\d{1,15}(\.\d{1,9})?$/.test(text)) return undefined;
  const number = Number(text);
  const moment = Math.floor(number >= MILLISECONDS ? number : number * 1000);
  return moment > 0 && moment <= Date.now() + AHEAD ? new Date(moment).toISOString() : undefined;
}

const regions = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });

/** Returns the first of the values that is an ISO 3166-1 code. The column often holds the name of a country. */
export function country(...values: readonly (string | null)[]): string | undefined {
  for (const value of values) {
    const code = value?.trim().toUpperCase() ?? '';
    if (/^[A-Z]{2}$/.test(code) && code !== 'ZZ' && regions.of(code) !== undefined) return code;
  }
  return undefined;
}

/** Returns a BCP 47 tag, or undefined if the text is not one. Chatwoot writes `pt_BR`. */
export function tag(text: string | null): string | undefined {
  const value = text?.trim().replaceAll('_', '-') ?? '';
  return /^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3}$/.test(value) ? value : undefined;
}

/**
 * The languages of `accounts.locale`, by number (Chatwoot's config/initializers/languages.rb). The numbers never
 * change. Those from 40 on come from a copy of Chatwoot of 2026.
 */
const LOCALES =
  'en ar nl fr de hi it ja ko pt ru zh es ml ca el pt-BR ro ta fa zh-TW vi da tr cs fi id sv hu no zh-CN pl sk uk th lv is he lt sr bg et uz sl'.split(
    ' ',
  );

/** Returns the language of an account. Chatwoot's own default is English. */
export const localeTag = (locale: string | null): string => LOCALES[Number(locale ?? 0)] ?? 'en';

const PLATFORMS: Readonly<Record<string, string>> = {
  'Channel::WebWidget': 'chat',
  'Channel::Email': 'email',
  'Channel::Api': 'api',
  'Channel::Whatsapp': 'whatsapp',
  'Channel::FacebookPage': 'messenger',
  'Channel::Instagram': 'instagram',
  'Channel::Telegram': 'telegram',
  'Channel::Line': 'line',
  'Channel::Sms': 'sms',
  'Channel::TwilioSms': 'sms',
  'Channel::Voice': 'voice',
};

export const platformOf = (channelType: string | null): string =>
  (channelType !== null && Object.hasOwn(PLATFORMS, channelType) ? PLATFORMS[channelType] : undefined) ?? 'unknown';

/** Writes plain text as HTML, so that the import's conversion of HTML gives the same text. */
export const asHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll(/\r?\n/g, '<br>');

export const looksLikeHtml = (text: string): boolean => /<\/?[a-z][a-z0-9]*(\s[^<>]*)?\/?>/i.test(text);
