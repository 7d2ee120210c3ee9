import { FAILURE_CODES, statusOf, titleOf } from '../../core/failures.js';
import { PUBLIC_LIMITS } from '../../core/limits.js';
import { GROUPS, SCOPE_TEXTS } from '../../core/scope-texts.js';
import { slug } from '../http/html.js';
import { titleOfGuide } from './page.js';
import { addressOf } from './reference/words.js';
export function searchIndex(registry, guides, clients) {
    return [
        ...registry.operations.map((tool) => ({
            kind: 'Operation',
            title: tool.title,
            url: addressOf(tool),
            about: `${tool.method} ${tool.path}`,
            words: [tool.name, tool.summary, ...tool.parameters.map(({ name }) => name)].join(' '),
        })),
        ...sectionsOf('Clients', '/docs/clients', clients),
        ...[...guides].flatMap(([name, text]) => sectionsOf(titleOfGuide(name), `/docs/guides/${name}`, text)),
        ...PUBLIC_LIMITS.map(([title, rows]) => ({
            kind: 'Limit',
            title,
            url: `/docs/limits#${slug(title)}`,
            about: 'Limits',
            words: rows.flat().join(' '),
        })),
        ...FAILURE_CODES.map((failure) => ({
            kind: 'Error',
            title: failure,
            url: `/docs/errors#${failure}`,
            about: `${statusOf(failure)} ${titleOf(failure)}`,
            words: '',
        })),
        ...GROUPS.flatMap(({ scopes }) => scopes).map((scope) => ({
            kind: 'Scope',
            title: scope,
            url: `/docs/scopes#${scope}`,
            about: SCOPE_TEXTS[scope].title,
            words: SCOPE_TEXTS[scope].sentence,
        })),
    ];
}
/** One entry for the guide, and one for each section. Every word of a section finds the section. */
function sectionsOf(guide, path, markdown) {
    const [opening = '', ...sections] = markdown.split(/^## /m);
    return [
        { kind: 'Guide', title: guide, url: path, about: 'Guide', words: unique(opening) },
        ...sections.map((section) => {
            const [heading = '', ...rest] = section.split('\n');
            const title = heading.replaceAll('`', '');
            const url = `${path}#${slug(title)}`;
            return { kind: 'Guide', title, url, about: `Guide: ${guide}`, words: unique(rest.join(' ')) };
        }),
    ];
}
/** Each word once. The search ignores the order of words. */
const unique = (text) => [...new Set(text.toLowerCase().match(/[\p{L}\p{N}_-]{3,}/gu))].join(' ');
//# sourceMappingURL=search-index.js.map