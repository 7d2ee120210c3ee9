import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vitest/config';
import { packageRoot } from '../../src/config/package.ts';

const ROOT = fileURLToPath(packageRoot);
const FOLDERS = ['src', 'tools', 'skills', 'prompts', 'resources', 'test/support'];

/** Vitest runs this module before each test file. As a module of Node, it would run once in each process. */
const EACH_FILE = `${ROOT}test/support/each-file.ts`;

const isIn = (root: string, id: string): boolean => FOLDERS.some((folder) => id.startsWith(`${root}${folder}/`));

/** The modules that Node loads by itself, without Vite. */
export const COMPILED = new RegExp(`/dist/(${FOLDERS.join('|')})/.*\\.js$`);

/**
 * Lets tests load the program and test/support as they were compiled into dist/ (build.ts), in place of their sources.
 * Node loads them faster than Vite, and a test process loads some 600 modules of them.
 */
export const compiled: Plugin = {
  name: 'compiled',
  enforce: 'pre',
  async resolveId(source, importer) {
    if (!source.endsWith('.ts')) return undefined;
    const found = await this.resolve(source, importer, { skipSelf: true });
    if (!found || found.id === EACH_FILE || !isIn(ROOT, found.id)) return undefined;
    return `${ROOT}dist/${found.id.slice(ROOT.length).replace(/\.ts$/, '.js')}`;
  },
};
