import { createHash } from 'node:crypto';
export const digestOf = (text) => `sha256:${createHash('sha256').update(text, 'utf8').digest('hex')}`;
/** The YAML between the first two lines `---`. */
export const frontmatterOf = (text) => /^---\n(.*?)\n---\n/s.exec(text)?.[1] ?? '';
//# sourceMappingURL=skills.js.map