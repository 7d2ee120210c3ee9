import type { ImportRecordInput } from '../engine/records.ts';
import type { Topic } from './dialogues/script.ts';
import { eu, us } from './organization.ts';

const DAY = 86_400_000;

const dispositions: readonly (readonly [
  value: string,
  english: string,
  german: string,
  group?: string,
  enabled?: boolean,
])[] = [
  ['resolved', 'Resolved', 'Gelöst', 'Solved'],
  ['resolved-by-ai', 'Resolved by AI', 'Von KI gelöst', 'Solved'],
  ['refund-issued', 'Refund issued', 'Erstattet', 'Solved'],
  ['replacement-sent', 'Replacement sent', 'Ersatz verschickt', 'Solved'],
  ['follow-up', 'Needs follow-up', 'Nachfassen', 'Open'],
  ['carrier-search', 'Waiting for carrier', 'Wartet auf Paketdienst', 'Open'],
  ['duplicate', 'Duplicate', 'Doppelt'],
  ['spam', 'Spam', 'Spam'],
  ['callback-2023', 'Phone callback (old)', 'Rückruf (alt)', 'Open', false],
];

export function dispositionFor(topic: Topic): string {
  if (topic === 'Refund' || topic === 'Payment') return 'refund-issued';
  if (topic === 'Warranty' || topic === 'Exchange') return 'replacement-sent';
  return topic === 'Delivery' ? 'carrier-search' : 'resolved';
}

type Response = Omit<Extract<ImportRecordInput, { type: 'saved_response' }>, 'type' | 'external_id' | 'website'>;

/** This text is too long for one answer of the API, because the demo needs an example of a truncated text. */
const careGuide = Array.from(
  { length: 320 },
  (_, i) =>
    `Step ${i + 1}. Brush off dry dirt, wash by hand in lukewarm water, rinse twice and let the fabric dry in the shade before packing.`,
).join('\n');

const responses: readonly Response[] = [
  {
    language: 'en',
    label: 'Return window',
    content: 'You can return unworn gear for 60 days. The label is in the parcel.',
    category_name: 'Returns',
    shortcut: 'return',
  },
  {
    language: 'en',
    label: 'Refund timing',
    content: 'We release refunds within five working days of receiving the parcel.',
    category_name: 'Returns',
    shortcut: 'refund',
  },
  {
    language: 'en',
    label: 'Carrier search',
    content: 'I have opened a search with the carrier and will write again tomorrow.',
    category_name: 'Delivery',
    shortcut: 'search',
    platform_id: 1,
  },
  { language: 'en', label: 'Fabric care in full', content: careGuide, category_name: 'Product care' },
  { language: 'en', label: 'Priya: sign-off', content: 'Warmly, Priya', category_name: 'Personal', scope: 'operator' },
  {
    language: 'en',
    label: 'Warranty desk intro',
    content: 'You have reached the warranty desk.',
    category_name: 'Warranty',
    scope: 'team',
  },
  {
    language: 'en',
    label: 'Outlet terms',
    content: 'Outlet items can be exchanged, not refunded.',
    category_name: 'Outlet',
    scope: 'subsite',
  },
  {
    language: 'de',
    label: 'Rückgabefrist',
    content: 'Ungetragene Ware nehmen wir 60 Tage lang zurück. Das Etikett liegt im Paket.',
    category_name: 'Retouren',
    shortcut: 'frist',
  },
  {
    language: 'de',
    label: 'Erstattung',
    content: 'Wir erstatten innerhalb von fünf Werktagen nach Eingang.',
    category_name: 'Retouren',
    shortcut: 'geld',
  },
  {
    language: 'de',
    label: 'Nachforschung',
    content: 'Der Nachforschungsauftrag läuft, morgen melde ich mich wieder.',
    category_name: 'Versand',
    platform_id: 2,
  },
  {
    language: 'de',
    label: 'Anke: Gruß',
    content: 'Herzliche Grüße, Anke',
    category_name: 'Persönlich',
    scope: 'operator',
  },
  {
    language: 'fr',
    label: 'Délai de retour',
    content: 'Vous avez 60 jours pour renvoyer un article non porté.',
    category_name: 'Retours',
    shortcut: 'retour',
  },
  {
    language: 'fr',
    label: 'Remboursement',
    content: 'Le remboursement part sous cinq jours ouvrés après réception.',
    category_name: 'Retours',
  },
  {
    language: 'fr',
    label: 'Équipe garantie',
    content: 'Le service garantie reprend votre dossier.',
    category_name: 'Garantie',
    scope: 'team',
  },
];

type Link = Omit<Extract<ImportRecordInput, { type: 'saved_link' }>, 'type' | 'external_id' | 'website'>;

const links: readonly Link[] = [
  { label: 'Size charts', url: 'https://larkspur.example/help/sizes' },
  { label: 'Return label', url: 'https://larkspur.example/returns/label' },
  { label: 'Warranty terms', url: 'https://larkspur.example/help/warranty' },
  { label: 'Store finder', url: 'http://stores.larkspur.example/' },
  { label: 'Order status', url: 'https://larkspur.example/orders/{order}', kind: 'dynamic' },
  { label: 'Start co-browsing', url: 'https://larkspur.example/assist/start', kind: 'scripted' },
  { label: 'My shift plan', url: 'https://intranet.larkspur.example/shifts', scope: 'operator' },
  { label: 'Warranty desk board', url: 'https://intranet.larkspur.example/warranty', scope: 'team' },
];

type Offer = Omit<Extract<ImportRecordInput, { type: 'offer' }>, 'type' | 'external_id' | 'website'>;

export function catalogueRecords(now: Date): ImportRecordInput[] {
  const at = (days: number): string => new Date(now.getTime() + days * DAY).toISOString();
  const offers: Offer[] = [
    {
      name: 'Free express on tents',
      offer_type: 'banner',
      status: 'active',
      url: 'https://larkspur.example/tents',
      starts_at: at(-10),
      ends_at: at(20),
    },
    { name: 'Need a hand with sizes?', offer_type: 'proactive_chat', status: 'active', starts_at: at(-90) },
    {
      name: 'Winter warm-up',
      offer_type: 'popup',
      status: 'draft',
      url: 'https://larkspur.example/winter',
      starts_at: at(14),
    },
    { name: 'Refurbished packs', offer_type: 'link', status: 'paused', url: 'https://outlet.larkspur.example/packs' },
    { name: 'Summer clearance', offer_type: 'banner', status: 'ended', starts_at: at(-80), ends_at: at(-40) },
    { name: 'Trail club invitation', offer_type: 'other', status: 'active' },
  ];
  return [us, eu].flatMap(({ key, website }) => [
    ...dispositions.map(([value, english, german, group, enabled], position): ImportRecordInput => {
      const label = key === 'us' ? english : german;
      return {
        type: 'disposition',
        external_id: `${key}-dsp-${value}`,
        website,
        value,
        label,
        group,
        enabled,
        position,
      };
    }),
    ...responses.map(
      (response, i): ImportRecordInput => ({
        type: 'saved_response',
        external_id: `${key}-rsp-${i + 1}`,
        website,
        ...response,
      }),
    ),
    ...links.map(
      (link, i): ImportRecordInput => ({ type: 'saved_link', external_id: `${key}-lnk-${i + 1}`, website, ...link }),
    ),
    ...offers.map(
      (offer, i): ImportRecordInput => ({ type: 'offer', external_id: `${key}-ofr-${i + 1}`, website, ...offer }),
    ),
  ]);
}
