import { readdir } from 'node:fs/promises';
import type { Tool } from '../core/tool.ts';
import { Registry } from './registry.ts';

const TOOLS = new URL('../../tools/', import.meta.url);

/** Loads every declaration under tools/: adding an operation is adding its file. */
export async function loadTools(folder: URL = TOOLS): Promise<Registry> {
  const names = (await readdir(folder, { recursive: true })).filter(
    (name) => /\.(ts|js)$/.test(name) && !name.endsWith('.d.ts'),
  );
  const tools = await Promise.all(
    names.sort().map(async (name) => {
      // A file under tools/ exports one declaration; the law tests hold every file to that.
      const module = (await import(new URL(name.replaceAll('\\', '/'), folder).href)) as { default: Tool };
      return module.default;
    }),
  );
  return new Registry(tools);
}
