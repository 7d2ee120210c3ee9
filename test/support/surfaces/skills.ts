import { createHash } from 'node:crypto';

/** An entry of `skills/list`. */
export interface ListedSkill {
  readonly uri: string;
  readonly frontmatter: { readonly name: string; readonly description: string };
  readonly resources: readonly { readonly uri: string; readonly digest: string; readonly size: number }[];
}

export const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text, 'utf8').digest('hex')}`;

/** The YAML between the first two lines `---`. */
export const frontmatterOf = (text: string): string => /^---\n(.*?)\n---\n/s.exec(text)?.[1] ?? '';
