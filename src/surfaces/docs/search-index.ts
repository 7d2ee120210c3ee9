import { FAILURE_CODES, statusOf, titleOf } from '../../core/failures.ts';
import type { GuideName } from '../../core/guides.ts';
import { PUBLIC_LIMITS } from '../../core/limits.ts';
import { GROUPS, SCOPE_TEXTS } from '../../core/scope-texts.ts';
import type { Registry } from '../../gateway/registry.ts';
import { slug } from '../http/html.ts';
import { titleOfGuide } from './page.ts';
import { addressOf } from './reference/words.ts';

interface SearchEntry {
  readonly kind: 'Operation' | 'Guide' | 'Limit' | 'Error' | 'Scope';
  readonly title: string;
  readonly url: string;
  readonly about: string;
  /** Further words that find the entry. */
  readonly words: string;
}

export function searchIndex(
  registry: Registry,
  guides: ReadonlyMap<GuideName, string>,
  clients: string,
): readonly SearchEntry[] {
  return [
    ...registry.operations.map(
      (tool): SearchEntry => ({
        kind: 'Operation',
        title: tool.title,
        url: addressOf(tool),
        about: `${tool.method} ${tool.path}`,
        words: [tool.name, tool.summary, ...tool.parameters.map(({ name }) => name)].join(' '),
      }),
    ),
    ...sectionsOf('Clients', '/docs/clients', clients),
    ...[...guides].flatMap(([name, text]) => sectionsOf(titleOfGuide(name), `/docs/guides/${name}`, text)),
    ...Object.entries(PUBLIC_LIMITS).map(
      ([title, rows]): SearchEntry => ({
        kind: 'Limit',
        title,
        url: `/docs/limits#${slug(title)}`,
        about: 'Limits',
        words: Object.entries(rows).flat().join(' '),
      }),
    ),
    ...FAILURE_CODES.map(
      (failure): SearchEntry => ({
        kind: 'Error',
        title: failure,
        url: `/docs/errors#${failure}`,
        about: `${statusOf(failure)} ${titleOf(failure)}`,
        words: '',
      }),
    ),
    ...GROUPS.flatMap(({ scopes }) => scopes).map(
      (scope): SearchEntry => ({
        kind: 'Scope',
        title: scope,
        url: `/docs/scopes#${scope}`,
        about: SCOPE_TEXTS[scope].title,
        words: SCOPE_TEXTS[scope].sentence,
      }),
    ),
  ];
}

/** One entry for the guide, and one for each section. Every word of a section finds the section. */
function sectionsOf(guide: string, path: string, markdown: string): SearchEntry[] {
  const [opening = '', ...sections] = markdown.split(/^## /m);
  return [
    { kind: 'Guide', title: guide, url: path, about: 'Guide', words: unique(opening) },
    ...sections.map((section): SearchEntry => {
      const [heading = '', ...rest] = section.split('\n');
      const title = heading.replaceAll('`', '');
      const url = `${path}#${slug(title)}`;
      return { kind: 'Guide', title, url, about: `Guide: ${guide}`, words: unique(rest.join(' ')) };
    }),
  ];
}

/** Each word once. The search ignores the order of words. */
const unique = (text: string): string => [...new Set(text.toLowerCase().match(/[\p{L}\p{N}_-]{3,}/gu))].join(' ');
