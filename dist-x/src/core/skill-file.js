const FORM = /^---\nname: (.+)\ndescription: (.+)\n---\n\n/;
export function readSkillFile(text) {
    const [head, name, description] = FORM.exec(text) ?? [];
    if (head === undefined || name === undefined || description === undefined)
        throw new Error('a SKILL.md must begin with its name and its description: correct its front matter');
    return { name, description, needs: toolsIn(description), head, parts: partsOf(text.slice(head.length)) };
}
/** The text for a caller that can call exactly these tools. Steps are numbered again, because some can be left out. */
export function skillText({ head, parts }, callable) {
    const kept = [];
    for (const part of parts.toReversed())
        if (part.tools.every((tool) => callable.has(tool)) && introduces(part, kept[0]))
            kept.unshift(part);
    let step = 0;
    const lines = kept.map(({ kind, text, spaced }, at) => {
        step = kind === 'step' ? step + 1 : 0;
        const numbered = kind === 'step' ? text.replace(STEP, `${step}. `) : text;
        const gap = at > 0 && (spaced || kind === 'heading' || kept[at - 1]?.kind === 'heading');
        return `${gap ? '\n' : ''}${numbered}\n`;
    });
    return head + lines.join('');
}
/** False for a heading without a text, and for a sentence with a colon whose list is left out. */
function introduces({ kind, text }, next) {
    if (kind === 'heading')
        return next !== undefined && next.kind !== 'heading';
    return !text.endsWith(':') || next?.kind === 'item' || next?.kind === 'step';
}
export const toolsIn = (text) => [...text.matchAll(/`([^`]*)`/g)].map(([, name = '']) => name);
const STEP = /^\d+\. /;
function partsOf(body) {
    const parts = [];
    let spaced = false;
    for (const line of body.trimEnd().split('\n')) {
        const last = parts.at(-1);
        if (line === '')
            spaced = true;
        else if (last && !spaced && kindOf(line) === 'paragraph' && last.kind !== 'heading')
            parts[parts.length - 1] = { ...last, text: `${last.text}\n${line}` };
        else {
            parts.push({ kind: kindOf(line), text: line, spaced });
            spaced = false;
        }
    }
    return parts.map((part) => ({ ...part, tools: toolsIn(part.text) }));
}
function kindOf(line) {
    if (line.startsWith('# '))
        return 'heading';
    if (line.startsWith('- '))
        return 'item';
    return STEP.test(line) ? 'step' : 'paragraph';
}
//# sourceMappingURL=skill-file.js.map