import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/**
 * The folder with the package.json of this package, as a file: URL. The folder is the same when the code runs from src/
 * (tests) and from dist/src/ (npm start).
 */
export const packageRoot: URL = find(new URL('.', import.meta.url));

export const packageVersion: string = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8'))).version;

function find(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  return find(new URL('..', folder));
}
