import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.js';
const ROOT = fileURLToPath(packageRoot);
const FOLDERS = ['src', 'tools', 'skills', 'prompts', 'resources'];
const isIn = (root, id) => FOLDERS.some((folder) => id.startsWith(`${root}${folder}/`));
/** The modules that Node loads by itself, without Vite. */
export const COMPILED = new RegExp(`/dist/(${FOLDERS.join('|')})/.*\\.js$`);
/**
 * Lets tests load the program as it was compiled into dist/ (build.ts), in place of its sources. Node loads it faster
 * than Vite, and a test process loads some 600 modules of it.
 */
export const compiled = {
    name: 'compiled',
    enforce: 'pre',
    async resolveId(source, importer) {
        if (!source.endsWith('.ts'))
            return undefined;
        const found = await this.resolve(source, importer, { skipSelf: true });
        if (!found || !isIn(ROOT, found.id))
            return undefined;
        return `${ROOT}dist/${found.id.slice(ROOT.length).replace(/\.ts$/, '.js')}`;
    },
};
//# sourceMappingURL=compiled.js.map