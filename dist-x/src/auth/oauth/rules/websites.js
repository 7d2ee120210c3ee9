import { OAuthError } from '../errors.js';
export const websites = (context) => {
    const held = context.installed.websites;
    const asked = context.request.parameters?.get('website_id');
    const chosen = asked === undefined ? held : held.filter(({ id }) => asked.includes(id));
    if (asked && chosen.length !== asked.length)
        throw new OAuthError('invalid_scope', { about: 'website_id' });
    context.learn('sites', chosen.map(({ site }) => site));
};
//# sourceMappingURL=websites.js.map