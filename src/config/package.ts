import { existsSync, readFileSync } from 'node:fs';

/**
 * The folder with the package.json of this package, as a file: URL. The folder is the same when the code runs from src/
 * (tests) and from dist/src/ (npm start).
 */
export const packageRoot: URL = find(new URL('.', import.meta.url));

export const packageVersion: string = versionOf(JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8')));

function find(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  return find(new URL('..', folder));
}

function versionOf(described: unknown): string {
  const version: unknown = Object(described).version;
  if (typeof version !== 'string') throw new Error('package.json has no version');
  return version;
}
