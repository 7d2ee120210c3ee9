import { Marked } from 'marked';
import { FAILURE_CODES } from '../../core/failures.js';
import { GUIDE_NAMES } from '../../core/guides.js';
import { Html, slug } from '../http/html.js';
import { highlighted, labelled } from './highlight.js';
import { addressOf } from './reference/words.js';
export function guideBody(markdown, registry) {
    const sections = [];
    const marked = new Marked({
        // Guides contain no HTML. Text that looks like HTML is shown as text.
        tokenizer: { html: () => undefined, tag: () => undefined },
        renderer: {
            heading({ tokens, depth }) {
                const inner = this.parser.parseInline(tokens);
                const title = unescapeHtml(inner.replace(/<[^>]+>/g, ''));
                if (depth === 1)
                    return `<h1>${inner}</h1>\n`;
                const id = slug(title);
                if (depth === 2)
                    sections.push({ id, title });
                return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${inner}</a></h${depth}>\n`;
            },
            code({ text, lang = '' }) {
                // The words after the language are the block's label.
                const [language = '', ...label] = lang.split(' ');
                if (label.length > 0)
                    return labelled(label.join(' '), text, language).text;
                // A wide block scrolls sideways. With focus, keyboard users can scroll it.
                return `<pre tabindex="0"><code>${highlighted(text, language).text}</code></pre>\n`;
            },
        },
    });
    const rendered = marked.parse(markdown, { async: false });
    return { body: new Html(withLinks(withScrollingTables(rendered), registry)), sections };
}
const unescapeHtml = (text) => text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
const withScrollingTables = (text) => text
    .replaceAll('<table>', '<div class="table" role="region" aria-label="Table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>');
/**
 * Links words in code format. The text before a word must say what it names, for example "tool". The word alone is
 * ambiguous: `visitor` names a tool, but is also a value.
 */
function withLinks(text, registry) {
    const guides = new Set(GUIDE_NAMES);
    const codes = new Set(FAILURE_CODES.filter((name) => name.includes('_') || name === 'internal'));
    return text
        .replace(/\b(guides?\s+)<code>(\w+)<\/code>/g, (all, before, name) => guides.has(name) ? `${before}<a href="/docs/guides/${name}"><code>${name}</code></a>` : all)
        .replace(/<li><code>(\w+)<\/code>:/g, (all, name) => guides.has(name) ? `<li><a href="/docs/guides/${name}"><code>${name}</code></a>:` : all)
        .replace(/\b(tools?\s+)<code>(\w+)<\/code>/g, (all, before, name) => {
        const tool = registry.get(name);
        return tool ? `${before}<a href="${addressOf(tool)}"><code>${name}</code></a>` : all;
    })
        .replace(/\b([45][0-9]{2}\s+)<code>(\w+)<\/code>/g, (all, before, name) => codes.has(name) ? `${before}<a href="/docs/errors#${name}"><code>${name}</code></a>` : all);
}
//# sourceMappingURL=guide.js.map