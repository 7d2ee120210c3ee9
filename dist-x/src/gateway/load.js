var __rewriteRelativeImportExtension = (this && this.__rewriteRelativeImportExtension) || function (path, preserveJsx) {
    if (typeof path === "string" && /^\.\.?\//.test(path)) {
        return path.replace(/\.(tsx)$|((?:\.d)?)((?:\.[^./]+?)?)\.([cm]?)ts$/i, function (m, tsx, d, ext, cm) {
            return tsx ? preserveJsx ? ".jsx" : ".js" : d && (!ext || !cm) ? m : (d + ext + "." + cm.toLowerCase() + "js");
        });
    }
    return path;
};
import { readdir, readFile } from 'node:fs/promises';
import { packageRoot } from '../config/package.js';
import { readSkillFile } from '../core/skill-file.js';
import { Registry } from './registry.js';
import { Skills } from './skills.js';
const ROOT = new URL('../../', import.meta.url);
export const loadTools = async (folder = new URL('tools/', ROOT)) => new Registry(await declarations(folder));
export const loadResources = () => declarations(new URL('resources/', ROOT));
export const loadPrompts = () => declarations(new URL('prompts/', ROOT));
export const loadSkills = async (registry) => new Skills(await declarations(new URL('skills/', ROOT)), registry);
/** The texts that MCP serves as skills, by name. */
export async function loadSkillFiles() {
    const folder = new URL('resources/skills/', packageRoot);
    const names = (await readdir(folder)).sort();
    return Promise.all(names.map(async (name) => readSkillFile(await readFile(new URL(`${name}/SKILL.md`, folder), 'utf8'))));
}
export async function loadDeclarations() {
    const [registry, resources, prompts, skillFiles] = await Promise.all([
        loadTools(),
        loadResources(),
        loadPrompts(),
        loadSkillFiles(),
    ]);
    return { registry, resources, prompts, skills: await loadSkills(registry), skillFiles };
}
async function declarations(folder) {
    const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(ts|js)$/.test(name) && !name.endsWith('.d.ts'));
    return Promise.all(names.sort().map(async (name) => {
        // The cast is sound: tests check that the default export of every loaded file is a declaration.
        const module = (await import(__rewriteRelativeImportExtension(new URL(name.replaceAll('\\', '/'), folder).href)));
        return module.default;
    }));
}
//# sourceMappingURL=load.js.map