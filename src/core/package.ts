import { existsSync } from 'node:fs';

/** Folder of this package's package.json, as a file: URL: the same from src/ (tests) and from dist/src/ (npm start). */
export const packageRoot: URL = find(new URL('.', import.meta.url));

function find(folder: URL): URL {
  // dist/ holds no package.json of its own.
  if (existsSync(new URL('package.json', folder))) return folder;
  return find(new URL('..', folder));
}
