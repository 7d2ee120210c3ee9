import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

export const websites: Rule = (context) => {
  const held = context.installed.websites;
  const asked = context.request.parameters?.get('website_id');
  const chosen = asked === undefined ? held : held.filter(({ id }) => asked.includes(id));
  if (asked && chosen.length !== asked.length) throw new OAuthError('invalid_scope', { about: 'website_id' });
  context.learn(
    'sites',
    chosen.map(({ site }) => site),
  );
};
