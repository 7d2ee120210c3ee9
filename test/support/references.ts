import type { RecordType } from '../../src/sources/files/records.ts';

/** Which member of a record refers to which type, written by hand from section 24: apart from the importer's own tables. */
export interface Reference {
  /** Member that holds an external_id, or a list of them when `many`. */
  readonly member: string;
  readonly to: RecordType;
  readonly many: boolean;
  /** Only for records whose author_type is one of these: a message's author is a visitor or an operator. */
  readonly authorTypes?: readonly string[];
}

const one = (member: string, to: RecordType): Reference => ({ member, to, many: false });
const many = (member: string, to: RecordType): Reference => ({ member, to, many: true });
const ofWebsite = one('website', 'website');

/** Which member of a record refers to which type. `delete` names its target itself (of, external_id). */
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
