import { html } from '../http/html.js';
/** Scripts whose letters change their form at a joiner, so that their words need it. Others could only hide it. */
const JOINING = `[${[
    ...['Adlam', 'Arabic', 'Mandaic', 'Mongolian', 'Nko', 'Syriac'],
    ...['Bengali', 'Devanagari', 'Gujarati', 'Gurmukhi', 'Kannada', 'Khmer', 'Malayalam', 'Myanmar', 'Oriya', 'Sinhala'],
    ...['Tamil', 'Telugu'],
]
    .map((script) => `\\p{Script_Extensions=${script}}`)
    .join('')}]`;
/**
 * Characters that a person cannot see, or that change how the text around them looks: controls but for the line break and
 * the tab, marks of direction, other invisible and private ones, and the separators of lines. Three kinds stay, because
 * emoji and words need them: a joiner between emoji, a joiner behind a letter of a script that joins, and the selector
 * behind an emoji.
 */
const HIDDEN = [
    String.raw `(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})`,
    String.raw `(?<=(?=${JOINING})[\p{L}\p{M}])[\u200c\u200d](?=(?=${JOINING})\p{L})`,
    String.raw `(?<=\p{Emoji})\ufe0f`,
    String.raw `[\n\t]`,
].join('|');
/** More marks on one letter than any writing system needs would cover the lines around it. */
const PILED = String.raw `(?<=\p{M}{4})\p{M}`;
const PART = new RegExp(`(?<kept>${HIDDEN})|(?<shown>${PILED}|[\\p{Cc}\\p{Default_Ignorable_Code_Point}\\p{Co}\\p{Zl}\\p{Zp}\\u2800\\ufff9-\\ufffb])`, 'gu');
const nameOf = (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
/**
 * The whole text of somebody else, as an approver must read it: every hidden character is a visible mark with its code
 * point, such as `U+202E`, and its effect is gone. Equal ones in a row are one mark with their number.
 */
export function marked(text) {
    const parts = [];
    let end = 0;
    let run;
    const flush = () => {
        if (run)
            parts.push(html `<b class="hidden-character">${run.count > 1 ? `${run.code} × ${run.count}` : run.code}</b>`);
        run = undefined;
    };
    const whole = text.toWellFormed();
    for (const found of whole.matchAll(PART)) {
        const [character] = found;
        if (found.groups?.['shown'] === undefined)
            continue;
        if (found.index > end) {
            flush();
            parts.push(whole.slice(end, found.index));
        }
        const code = nameOf(character);
        if (run?.code !== code)
            flush();
        run = { code, count: (run?.count ?? 0) + 1 };
        end = found.index + character.length;
    }
    flush();
    parts.push(whole.slice(end));
    return html `${parts}`;
}
//# sourceMappingURL=marked.js.map