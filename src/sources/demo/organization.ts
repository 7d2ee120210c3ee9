import type { ImportRecordInput } from '../engine/records.ts';

export type Platform = 'chat' | 'email' | 'whatsapp' | 'voice';
export const platforms: readonly Platform[] = ['chat', 'email', 'whatsapp', 'voice'];

export interface Operator {
  readonly id: string;
  readonly name: string;
  readonly languages: readonly string[];
}

export interface Site {
  readonly key: 'us' | 'eu';
  readonly website: string;
  readonly currency: 'USD' | 'EUR';
  /**
   * The approximate difference between UTC and the time of the website, in hours. With this difference, conversations
   * start in the daytime of the website.
   */
  readonly offset: number;
  readonly operators: readonly Operator[];
  readonly subsites: readonly string[];
}

const organization = 'larkspur';
export const bot = 'op-lark';

export const us: Site = {
  key: 'us',
  website: 'larkspur-us',
  currency: 'USD',
  offset: -5,
  operators: [
    { id: 'op-priya', name: 'Priya Raman', languages: ['en'] },
    { id: 'op-jonah', name: 'Jonah Beck', languages: ['en', 'fr'] },
    { id: 'op-lucia', name: 'Lucía Ortega', languages: ['es', 'pt'] },
    { id: 'op-kenji', name: 'Kenji Mori', languages: ['ja', 'en'] },
  ],
  subsites: ['us-outlet', 'us-journal'],
};

export const eu: Site = {
  key: 'eu',
  website: 'larkspur-eu',
  currency: 'EUR',
  offset: 1,
  operators: [
    { id: 'op-anke', name: 'Anke Brandt', languages: ['de', 'nl'] },
    { id: 'op-camille', name: 'Camille Roche', languages: ['fr', 'en'] },
    { id: 'op-giulia', name: 'Giulia Ferri', languages: ['it', 'es', 'pt'] },
    { id: 'op-piotr', name: 'Piotr Zawada', languages: ['pl', 'de'] },
    { id: 'op-elif', name: 'Elif Aydın', languages: ['tr', 'de'] },
  ],
  subsites: ['eu-outlet', 'eu-business'],
};

export const channelOf = (site: Site, platform: Platform): string => `${site.key}-${platform}`;
export const careTeam = (site: Site): string => `${site.key}-care`;
export const returnsTeam = (site: Site): string => `${site.key}-returns`;
export const formerOperator = 'op-sam';

const both = [us.website, eu.website];

const people: ImportRecordInput[] = [
  operator('op-maren', 'Maren Holt', 'owner', both, []),
  operator('op-theo', 'Theo Lindqvist', 'admin', both, [careTeam(us), careTeam(eu)]),
  operator(bot, 'Lark', 'bot', both, []),
  { ...operator(formerOperator, 'Sam Whitlock', 'operator', both, [returnsTeam(eu)]), enabled: false },
  ...[us, eu].flatMap((site) =>
    site.operators.map(({ id, name }, i) =>
      operator(
        id,
        name,
        'operator',
        [site.website],
        i % 2 === 0 ? [careTeam(site)] : [careTeam(site), returnsTeam(site)],
      ),
    ),
  ),
];

function operator(
  external_id: string,
  name: string,
  role: 'owner' | 'admin' | 'operator' | 'bot',
  websites: string[],
  teams: string[],
): Extract<ImportRecordInput, { type: 'operator' }> {
  const email = role === 'bot' ? undefined : `${external_id.slice(3)}@larkspur.example`;
  return { type: 'operator', external_id, organization, name, email, role, websites, teams };
}

export function organizationRecords(): ImportRecordInput[] {
  return [
    { type: 'organization', external_id: organization, name: 'Larkspur Outfitters' },
    {
      type: 'website',
      external_id: us.website,
      organization,
      name: 'Larkspur Outfitters US',
      time_zone: 'America/New_York',
    },
    {
      type: 'website',
      external_id: eu.website,
      organization,
      name: 'Larkspur Outfitters Europe',
      time_zone: 'Europe/Berlin',
      crm_integrated: true,
    },
    { type: 'subsite', external_id: 'us-outlet', website: us.website, name: 'Outlet' },
    { type: 'subsite', external_id: 'us-journal', website: us.website, name: 'Trail journal' },
    { type: 'subsite', external_id: 'eu-outlet', website: eu.website, name: 'Outlet' },
    { type: 'subsite', external_id: 'eu-business', website: eu.website, name: 'Geschäftskunden' },
    ...channels(us, ['Website chat', 'support@larkspur.example', 'WhatsApp US', 'Phone line']),
    // The import format permits a channel without a name, so the demo has one.
    ...channels(eu, ['Chat', 'hallo@larkspur.example', 'WhatsApp Europa', undefined]),
    { type: 'team', external_id: careTeam(us), website: us.website, name: 'Customer care' },
    { type: 'team', external_id: returnsTeam(us), website: us.website, name: 'Returns and warranty' },
    { type: 'team', external_id: 'us-holiday', website: us.website, name: 'Holiday overflow', enabled: false },
    { type: 'team', external_id: careTeam(eu), website: eu.website, name: 'Kundenservice' },
    { type: 'team', external_id: returnsTeam(eu), website: eu.website, name: 'Retouren und Garantie' },
    { type: 'team', external_id: 'eu-night', website: eu.website },
    ...people,
  ];
}

function channels(site: Site, names: readonly (string | undefined)[]): ImportRecordInput[] {
  return platforms.map((platform, i) => ({
    type: 'channel',
    external_id: channelOf(site, platform),
    website: site.website,
    name: names[i],
    platform,
  }));
}
