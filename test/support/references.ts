import type { RecordType } from '../../src/sources/engine/records.ts';

/** The references between records, by hand. A list from the importer's own tables would repeat its mistakes. */
export interface Reference {
  /** The member with an external_id, or with `many`, a list of them. */
  readonly member: string;
  readonly to: RecordType;
  readonly many: boolean;
  /** Only for records with one of these author types. A message's author is a visitor or an operator. */
  readonly authorTypes?: readonly string[];
}

const one = (member: string, to: RecordType): Reference => ({ member, to, many: false });
const many = (member: string, to: RecordType): Reference => ({ member, to, many: true });
const ofWebsite = one('website', 'website');

/** By record type. A `delete` record names its target in `of` and `external_id`. */
export const REFERENCES: Readonly<Record<RecordType, readonly Reference[]>> = {
  organization: [],
  website: [one('organization', 'organization')],
  subsite: [ofWebsite],
  channel: [ofWebsite],
  team: [ofWebsite],
  operator: [one('organization', 'organization'), many('websites', 'website'), many('teams', 'team')],
  contact: [ofWebsite],
  visitor: [ofWebsite, many('contacts', 'contact')],
  ai_feature: [ofWebsite],
  disposition: [ofWebsite],
  saved_response: [ofWebsite],
  saved_link: [ofWebsite],
  offer: [ofWebsite],
  conversation: [
    ofWebsite,
    one('visitor', 'visitor'),
    many('contacts', 'contact'),
    one('channel', 'channel'),
    one('team', 'team'),
    one('subsite', 'subsite'),
    one('operator', 'operator'),
  ],
  message: [
    one('conversation', 'conversation'),
    { member: 'author', to: 'visitor', many: false, authorTypes: ['visitor'] },
    { member: 'author', to: 'operator', many: false, authorTypes: ['operator', 'bot', 'system'] },
    one('in_reply_to', 'message'),
    one('ai_feature', 'ai_feature'),
  ],
  file: [one('message', 'message')],
  note: [one('visitor', 'visitor'), one('operator', 'operator')],
  ai_result: [one('conversation', 'conversation')],
  delete: [],
};
