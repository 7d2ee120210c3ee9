import { languages } from './dialogues/index.ts';
import type { Dialogues, Script } from './dialogues/script.ts';
import { script } from './dialogues/script.ts';
import { eu, type Platform, type Site, us } from './organization.ts';
import type { Person, Population } from './people.ts';
import { populate } from './people.ts';
import type { Random } from './random.ts';

type Status = 'unassigned' | 'assigned' | 'pending' | 'snoozed' | 'closed' | 'missed' | 'spam';

export interface Plan {
  readonly site: Site;
  readonly dialogues: Dialogues;
  readonly script: Script;
  readonly status: Status;
  /** `api` means that an integration has created the conversation without a channel. */
  readonly platform: Platform | 'api';
  readonly person: Person;
  readonly anonymous: boolean;
}

const statuses: readonly (readonly [Status, number])[] = [
  ['closed', 232],
  ['assigned', 48],
  ['unassigned', 34],
  ['pending', 30],
  ['snoozed', 18],
  ['missed', 22],
];
const SPAM = 16;

const spam: readonly Script[] = [
  script(
    'Product advice',
    'First page in 24 hours',
    'v: we bring larkspur to page one of every search engine in 24 hours, price list on request.',
  ),
  script(
    'Payment',
    'Your parcel is on hold',
    'v: your parcel is on hold. Pay the fee of {amount} at http://parcel-fee.example to release it.',
  ),
  script(
    'Stock',
    'Wholesale sunglasses',
    'v: best wholesale sunglasses, ten thousand pairs, minimum order one box, answer today.',
  ),
];

export function plan(random: Random): { plans: Plan[]; population: Population } {
  const slots = languages.flatMap(({ dialogues, us: first, eu: second }) => [
    ...Array.from({ length: first }, (_, i) => ({ site: us, dialogues, i })),
    ...Array.from({ length: second }, (_, i) => ({ site: eu, dialogues, i })),
  ]);
  const wanted = languages.flatMap(({ dialogues, us: first, eu: second }) =>
    [
      { site: us, language: dialogues.language, visitors: Math.ceil(first * 0.62) },
      { site: eu, language: dialogues.language, visitors: Math.ceil(second * 0.62) },
    ].filter(({ visitors }) => visitors > 0),
  );
  const population = populate(random, wanted);
  const shuffled = random.shuffle(statuses.flatMap(([status, count]) => Array.from({ length: count }, () => status)));
  const plans = slots.map(({ site, dialogues, i }, position): Plan => {
    // The first conversations of the plan are spam. These conversations are in English and on the first website,
    // because the plan starts with the English conversations of this website.
    const status = position < SPAM ? 'spam' : (shuffled[position - SPAM] ?? 'closed');
    const among = population.people.filter((one) => one.site === site && one.language === dialogues.language);
    const person = random.pick(among);
    const anonymous = (status === 'missed' || status === 'unassigned') && random.chance(0.15);
    return {
      site,
      dialogues,
      script:
        status === 'spam' ? random.pick(spam) : (dialogues.scripts[i % dialogues.scripts.length] ?? random.pick(spam)),
      status,
      platform: anonymous ? 'api' : pickPlatform(random, site),
      person,
      anonymous,
    };
  });
  return { plans, population };
}

function pickPlatform(random: Random, site: Site): Platform {
  const drawn = random.next();
  if (drawn < 0.48) return 'chat';
  if (drawn < 0.74) return 'email';
  if (drawn < (site === us ? 0.82 : 0.94)) return 'whatsapp';
  return 'voice';
}
