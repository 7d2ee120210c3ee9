import type { ImportRecordInput } from '../engine/records.ts';
import { formerOperator } from './organization.ts';
import type { Person, Presence } from './people.ts';
import type { Random } from './random.ts';

export const internal: Readonly<Record<'us' | 'eu', readonly string[]>> = {
  us: [
    'Carrier says the depot in {city} was closed on Monday. Please check {ticket} again tomorrow.',
    'Goodwill approved up to {amount}, do not promise more.',
    'Third contact about {order}. Keep it with one person, please.',
    'Photo matches the batch with the weak rivets. Added to the quality list.',
    'Customer prefers e-mail in the evening, not calls.',
    'Asked the warehouse to weigh the return, it looks like the pump is missing.',
    'Checked with finance: the reversal for {order} is booked.',
    'Travels on {soon}, so anything after that is too late.',
  ],
  eu: [
    'Laut Paketdienst liegt die Sendung im Depot {city}. Bitte {ticket} morgen noch einmal prüfen.',
    'Kulanz bis {amount} ist mit Maren abgesprochen.',
    'Dritter Kontakt zu {order}, bitte bei einer Person lassen.',
    'Foto passt zur Charge mit den schwachen Nieten. Steht auf der Qualitätsliste.',
    'Kunde möchte lieber E-Mails am Abend, keine Anrufe.',
    'Lager wiegt die Retoure nach, die Pumpe scheint zu fehlen.',
    'Buchhaltung bestätigt: Storno zu {order} ist gebucht.',
    'Reist am {soon}, alles danach kommt zu spät.',
  ],
};

export const summary: Readonly<Record<'us' | 'eu', string>> = {
  us: 'Handover summary: {name} writes about {order} ({topic}). Details were collected, a person is asked for.',
  eu: 'Zusammenfassung: {name} schreibt zu {order} ({topic}). Angaben sind vollständig, ein Mensch wird gewünscht.',
};

const titles = ['Preferences', 'Call back', 'Trade customer', 'Vorlieben', 'Rückruf'];
const texts: Readonly<Record<'us' | 'eu', readonly string[]>> = {
  us: [
    'Buys for a scout group every spring; asks for one invoice per patrol.',
    'Very wide feet, take two sizes out of stock for fittings.',
    'Spoke on the phone: happy with the replacement, wants a heads-up about the next tent.',
    'Has been promised free shipping on the next order.',
    'Writes from two devices, please look at both visitors.',
    'Allergic to down. Recommend synthetic fill only.',
  ],
  eu: [
    'Kauft jedes Frühjahr für eine Pfadfindergruppe, bitte eine Rechnung je Gruppe.',
    'Sehr breite Füße, zur Anprobe immer zwei Größen schicken.',
    'Telefoniert: mit dem Ersatz zufrieden, möchte über das nächste Zelt informiert werden.',
    'Für die nächste Bestellung ist versandkostenfrei zugesagt.',
    'Daunenallergie, bitte nur Kunstfaser empfehlen.',
    'Schreibt von zwei Geräten, bitte beide Besucher ansehen.',
  ],
};

/** This note is too long for one answer of the API. */
const protocol = Array.from(
  { length: 420 },
  (_, i) => `Call ${i + 1}: asked about the group order, answered with the current delivery week, nothing else open.`,
).join('\n');

export function noteRecords(
  random: Random,
  people: readonly Person[],
  presence: Presence,
  now: number,
): ImportRecordInput[] {
  const written = people.filter(({ visitor }) => presence.has(visitor));
  return Array.from({ length: 72 }, (_, i): ImportRecordInput => {
    const { visitor, site } = random.pick(written);
    const since = presence.get(visitor)?.first ?? now;
    const author = random.chance(0.08) ? formerOperator : random.pick(site.operators).id;
    return {
      type: 'note',
      external_id: `note-${i + 1}`,
      visitor,
      operator: random.chance(0.9) ? author : undefined,
      title: random.chance(0.8) ? random.pick(titles) : undefined,
      text: i === 40 ? protocol : random.pick(texts[site.key]),
      created_at: new Date(since + Math.floor((now - since) * random.next())).toISOString(),
    };
  });
}
