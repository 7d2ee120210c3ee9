import { CLASSES, GROUPS, SCOPE_TEXTS } from '../../core/scope-texts.ts';
import { type DataAccess, RESTRICTIONS, type Restriction, type Scope } from '../../core/scopes.ts';
import { type Html, html } from '../http/html.ts';
import { capital, named } from '../http/pages/shell.ts';

/** What a credential or a consent permits. */
export interface Permitted extends Readonly<Record<Restriction, readonly string[] | null>> {
  readonly scopes: readonly Scope[];
  readonly data_access: readonly DataAccess[];
}

/** The permissions in the words of the consent page, by group, with what they reveal. */
export const permissions = ({ scopes, data_access }: Permitted): Html => html`
<ul class="access">${GROUPS.map(({ title, scopes: all }) => {
  const held = all.filter((scope) => scopes.includes(scope));
  return held.length === 0
    ? undefined
    : html`
  <li><strong>${title}</strong> ${held.map((scope, i) => {
    const { title: name, flags, acts } = SCOPE_TEXTS[scope];
    const masked = flags.filter((flag) => !data_access.includes(flag));
    return [
      i === 0 ? '' : ' · ',
      html`<span title="${scope}">${name}</span>`,
      masked.length === 0
        ? ''
        : html` <span class="small">(${acts ? 'refused' : 'masked'}: no ${masked.map((flag) => CLASSES[flag]).join(', ')})</span>`,
    ];
  })}</li>`;
})}
</ul>`;

export const sensitive = ({ data_access }: Permitted): string =>
  data_access.length === 0 ? 'None' : capital(data_access.map((flag) => CLASSES[flag]).join(', '));

/** The restrictions in words, such as `1 channel, 2 teams`. */
export function limits(access: Permitted): string {
  const found = RESTRICTIONS.flatMap((dimension) => {
    const ids = access[dimension];
    return ids === null ? [] : [`${ids.length} ${dimension.replace('_ids', '')}${ids.length === 1 ? '' : 's'}`];
  });
  return found.length === 0 ? 'All conversations of these websites' : `Only conversations of ${found.join(', ')}`;
}

/** The names of websites. A website that is no longer there shows its id. */
export const websites = (ids: readonly string[], names: ReadonlyMap<string, string>): Html =>
  html`${ids.length === 0 ? 'None' : ids.map((id, i) => [i === 0 ? '' : ', ', named(names.get(id) ?? id)])}`;

/** One short line for a table, such as `7 permissions, personal data`. */
export const short = ({ scopes, data_access }: Permitted): string =>
  [`${scopes.length} permission${scopes.length === 1 ? '' : 's'}`, ...data_access.map((flag) => CLASSES[flag])].join(
    ', ',
  );
