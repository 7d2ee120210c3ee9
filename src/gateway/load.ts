import { readdir, readFile } from 'node:fs/promises';
import { packageRoot } from '../config/package.ts';
import type { Prompt } from '../core/prompt.ts';
import type { ResourceDeclaration } from '../core/resource.ts';
import type { Skill } from '../core/skill.ts';
import { readSkillFile, type SkillFile } from '../core/skill-file.ts';
import type { Tool } from '../core/tool.ts';
import { Registry } from './registry.ts';
import { Skills } from './skills.ts';

const ROOT = new URL('../../', import.meta.url);

export const loadTools = async (folder = new URL('tools/', ROOT)): Promise<Registry> =>
  new Registry(await declarations<Tool>(folder));

export const loadResources = (): Promise<ResourceDeclaration[]> =>
  declarations<ResourceDeclaration>(new URL('resources/', ROOT));

export const loadPrompts = (): Promise<Prompt[]> => declarations<Prompt>(new URL('prompts/', ROOT));

export const loadSkills = async (registry: Registry): Promise<Skills> =>
  new Skills(await declarations<Skill>(new URL('skills/', ROOT)), registry);

/** The texts that MCP serves as skills, by name. */
export async function loadSkillFiles(): Promise<SkillFile[]> {
  const folder = new URL('resources/skills/', packageRoot);
  const names = (await readdir(folder)).sort();
  return Promise.all(
    names.map(async (name) => readSkillFile(await readFile(new URL(`${name}/SKILL.md`, folder), 'utf8'))),
  );
}

export interface Declarations {
  readonly registry: Registry;
  readonly resources: readonly ResourceDeclaration[];
  readonly prompts: readonly Prompt[];
  readonly skills: Skills;
  readonly skillFiles: readonly SkillFile[];
}

export async function loadDeclarations(): Promise<Declarations> {
  const [registry, resources, prompts, skillFiles] = await Promise.all([
    loadTools(),
    loadResources(),
    loadPrompts(),
    loadSkillFiles(),
  ]);
  return { registry, resources, prompts, skills: await loadSkills(registry), skillFiles };
}

async function declarations<T>(folder: URL): Promise<T[]> {
  const names = (await readdir(folder, { recursive: true })).filter(
    (name) => /\.(ts|js)$/.test(name) && !name.endsWith('.d.ts'),
  );
  return Promise.all(
    names.sort().map(async (name) => {
      // The cast is sound: tests check that the default export of every loaded file is a declaration.
      const module = (await import(new URL(name.replaceAll('\\', '/'), folder).href)) as { default: T };
      return module.default;
    }),
  );
}
