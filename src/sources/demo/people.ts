/**
 * All names of the demo's people are invented. All their domains and phone numbers are reserved for examples or
 * fiction.
 */
import type { ImportRecordInput } from '../engine/records.ts';
import { eu, type Site, us } from './organization.ts';
import type { Random } from './random.ts';

export interface Person {
  readonly visitor: string;
  readonly site: Site;
  readonly first: string;
  readonly last: string;
  readonly email: string;
  readonly language: string;
  readonly contacts: readonly string[];
}

/** The times of the first and the last visit of each visitor, in milliseconds. The key is the visitor's external id. */
export type Presence = ReadonlyMap<string, { readonly first: number; readonly last: number }>;

const DAY = 86_400_000;

interface Names {
  readonly first: string;
  readonly last: string;
  readonly places: readonly (readonly [country: string, zone: string])[];
}

const names: Readonly<Record<string, Names>> = {
  en: {
    first: 'Harriet Owen Tessa Malik Joanna Desmond Ruth Callum Nadia Graham Ivy Leon',
    last: 'Fairbanks Okoye Pemberton Lowell Hargrove Sutter Quigley Ashdown Marlow Bexley Stroud Kincaid',
    places: [
      ['US', 'America/New_York'],
      ['US', 'America/Denver'],
      ['IE', 'Europe/Dublin'],
      ['GB', 'Europe/London'],
    ],
  },
  de: {
    first: 'Friederike Jürgen Katharina Lennart Änne Matthias Sieglinde Torben Ulrike Götz',
    last: 'Weißmüller Hölzl Brinkmann Kästner Vogt Steinhauer Lübke Oberauer Rühl Zimmerli',
    places: [
      ['DE', 'Europe/Berlin'],
      ['AT', 'Europe/Vienna'],
      ['CH', 'Europe/Zurich'],
    ],
  },
  fr: {
    first: 'Maëlle Thibault Noémie Étienne Françoise Loïc Sylvie Gaël',
    last: 'Delacroix Besson Lefèvre Garnier Maréchal Pélissier Rouvière Castel',
    places: [
      ['FR', 'Europe/Paris'],
      ['BE', 'Europe/Brussels'],
      ['CA', 'America/Toronto'],
    ],
  },
  es: {
    first: 'Begoña Íñigo Ximena Álvaro Consuelo Nicolás Araceli Raúl',
    last: 'Ibáñez Quintana Peñalver Solís Echeverría Montero Úbeda Cañizares',
    places: [
      ['ES', 'Europe/Madrid'],
      ['MX', 'America/Mexico_City'],
      ['US', 'America/New_York'],
    ],
  },
  it: {
    first: 'Ginevra Niccolò Loredana Matteo Fiorella Tommaso Ilaria',
    last: 'Bellandi Sartori Cattaneo Morandini Pellegrino Zorzi Dall’Acqua',
    places: [
      ['IT', 'Europe/Rome'],
      ['CH', 'Europe/Zurich'],
    ],
  },
  pt: {
    first: 'Leonor Gonçalo Matilde Simão Conceição Vasco',
    last: 'Figueiredo Araújo Lourenço Magalhães Falcão Simões',
    places: [
      ['PT', 'Europe/Lisbon'],
      ['BR', 'America/Sao_Paulo'],
    ],
  },
  nl: {
    first: 'Marijke Joost Liesbeth Sjoerd Femke Pieter',
    last: 'Dijkstra Verhoeven Kuipers Bosman Terpstra Zijlstra',
    places: [
      ['NL', 'Europe/Amsterdam'],
      ['BE', 'Europe/Brussels'],
    ],
  },
  pl: {
    first: 'Małgorzata Łukasz Agnieszka Wojciech Żaneta Bogdan',
    last: 'Wiśniewska Kowalczyk Grześkowiak Sobczak Dąbek Śliwa',
    places: [['PL', 'Europe/Warsaw']],
  },
  tr: {
    first: 'Gülşen Çağan Şebnem Ömer İpek Uğur',
    last: 'Yıldırım Karaca Öztekin Güneş Şahin Doğruer',
    places: [['TR', 'Europe/Istanbul']],
  },
  ja: {
    first: '美咲 健太 由紀子 大輔 さくら 拓海',
    last: '藤原 中村 小川 石井 佐々木 渡辺',
    places: [
      ['JP', 'Asia/Tokyo'],
      ['US', 'America/Los_Angeles'],
    ],
  },
};

const companies: Readonly<Record<string, string>> = {
  en: 'Alder & Finch Expeditions LLC',
  de: 'Wanderwerk Nord GmbH',
  fr: 'Les Sentiers du Mercantour',
  it: 'Passo Chiaro Srl',
  nl: 'Duinpad Reizen BV',
  ja: '株式会社ひばり登山企画',
};

interface Draft extends Person {
  readonly places: Names['places'];
}

export interface Population {
  readonly people: readonly Person[];
  contacts(presence: Presence, now: number): ImportRecordInput[];
  visitors(presence: Presence, now: number): ImportRecordInput[];
}

export function populate(
  random: Random,
  wanted: readonly { site: Site; language: string; visitors: number }[],
): Population {
  const drafts = wanted.flatMap(({ site, language, visitors }) => {
    const group: Draft[] = [];
    for (let i = 0; i < visitors; i += 1) {
      const one = draft(random, site, language, i);
      const previous = group.at(-1);
      // Every tenth visitor is a second device of the previous person.
      group.push(i % 10 === 9 && previous !== undefined ? { ...previous, visitor: one.visitor } : one);
    }
    return group;
  });
  // People in the address book who have never written a message.
  const silent = Array.from({ length: 24 }, (_, i) => {
    const language = random.pick(Object.keys(names));
    return draft(random, i % 2 === 0 ? us : eu, language, 900 + i, true);
  });
  return {
    people: drafts,
    contacts: (presence, now) => {
      const written = new Set<string>();
      return [...drafts, ...silent].flatMap((person) =>
        person.contacts.flatMap((id): ImportRecordInput[] => {
          if (written.has(id)) return [];
          written.add(id);
          const seen = presence.get(person.visitor)?.first ?? now - random.int(50, 400) * DAY;
          return [contact(random, person, id, written.size, seen, now)];
        }),
      );
    },
    visitors: (presence, now) =>
      drafts.map((person, i): ImportRecordInput => {
        const seen = presence.get(person.visitor);
        const last = seen?.last ?? now - random.int(1, 40) * DAY;
        const first =
          (seen?.first ?? last) - random.int(5, 90) * 60_000 - (random.chance(0.4) ? random.int(1, 200) * DAY : 0);
        return {
          type: 'visitor',
          external_id: person.visitor,
          website: person.site.website,
          nickname: random.chance(0.7) ? (person.contacts.length > 0 ? person.first : `Guest ${1000 + i}`) : undefined,
          blocked: i % 61 === 60,
          contacts: [...person.contacts],
          created_at: new Date(first).toISOString(),
          last_seen_at: random.chance(0.95)
            ? new Date(Math.min(now, last + random.int(1, 90) * 60_000)).toISOString()
            : undefined,
        };
      }),
  };
}

function draft(random: Random, site: Site, language: string, number: number, silent = false): Draft {
  const { first, last, places } = names[language] ?? { first: 'Robin', last: 'Doe', places: [] };
  const key = `${site.key}-${language}-${number + 1}`;
  const known = silent || random.chance(0.72);
  // Every twelfth person has two contacts that nobody has merged yet.
  const contacts = known ? [`con-${key}`, ...(number % 12 === 11 ? [`con-${key}-b`] : [])] : [];
  return {
    visitor: `vis-${key}`,
    site,
    first: random.pick(first.split(' ')),
    last: random.pick(last.split(' ')),
    email: `${language}.${site.key}.${number + 1}@${random.pick(['example.com', 'example.net', 'example.org', 'mail.example'])}`,
    language,
    contacts,
    places,
  };
}

function contact(
  random: Random,
  person: Draft,
  id: string,
  count: number,
  seen: number,
  now: number,
): ImportRecordInput {
  const [country, time_zone] = person.places.length > 0 ? random.pick(person.places) : [];
  const created = seen - random.int(0, 300) * DAY - random.int(1, 600) * 60_000;
  const named = !random.chance(0.06);
  const name = person.language === 'ja' ? `${person.last} ${person.first}` : `${person.first} ${person.last}`;
  const some = <T>(probability: number, value: T): T | undefined => (random.chance(probability) ? value : undefined);
  return {
    type: 'contact',
    external_id: id,
    website: person.site.website,
    name: named ? name : undefined,
    first_name: named ? person.first : undefined,
    last_name: named ? person.last : undefined,
    email: some(0.93, person.email),
    mobile: some(0.6, mobile(random, country)),
    phone: some(0.35, landline(random, country)),
    company: some(0.2, companies[person.language]),
    language: some(0.9, person.language === 'pt' && country === 'BR' ? 'pt-BR' : person.language),
    country: some(0.85, country),
    time_zone: some(0.7, time_zone),
    blocked: count % 37 === 36,
    deleted: count % 31 === 30,
    created_at: new Date(created).toISOString(),
    updated_at: some(0.8, new Date(created + Math.floor((now - created) * random.next())).toISOString()),
  };
}

const digits = (random: Random, length: number): string =>
  String(random.int(0, 10 ** length - 1)).padStart(length, '0');

/**
 * Returns a mobile number from a range that regulators reserve for fiction (US 555-01xx, Ofcom, Bundesnetzagentur,
 * Arcep). The number is written as people type it.
 */
function mobile(random: Random, country: string | undefined): string {
  if (random.chance(0.12)) return random.pick(['ask my wife', '555-0142', 'see e-mail', '0000', 'same as phone']);
  if (country === 'US' || country === 'CA')
    return `+1 (${random.pick(['212', '303', '617', '828'])}) 555-01${digits(random, 2)}`;
  if (country === 'DE') return `+49 171 39200${digits(random, 2)}`;
  if (country === 'FR') return `+33 6 39 98 ${digits(random, 2)} ${digits(random, 2)}`;
  return `+44 7700 900${digits(random, 3)}`;
}

function landline(random: Random, country: string | undefined): string {
  if (random.chance(0.2)) return random.pick(['ext. 12', '555 0117', 'office only', '030 / 0']);
  if (country === 'DE') return `+49 (0)30 23125 ${digits(random, 3)}`;
  if (country === 'FR') return `+33 1 99 00 ${digits(random, 2)} ${digits(random, 2)}`;
  if (country === 'US' || country === 'CA') return `+1-503-555-01${digits(random, 2)}`;
  return `+44 20 7946 0${digits(random, 3)}`;
}
