const one = (member, to) => ({ member, to, many: false });
const many = (member, to) => ({ member, to, many: true });
const ofWebsite = one('website', 'website');
/** By record type. A `delete` record names its target in `of` and `external_id`. */
export const REFERENCES = {
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
//# sourceMappingURL=references.js.map