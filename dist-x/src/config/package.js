import { existsSync, readFileSync } from 'node:fs';
/** The folder of package.json as a file: URL, whether the code runs from src/ (tests) or dist/src/ (npm start). */
export const packageRoot = find(new URL('.', import.meta.url));
export const packageVersion = versionOf(JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8')));
function find(folder) {
    if (existsSync(new URL('package.json', folder)))
        return folder;
    return find(new URL('..', folder));
}
function versionOf(described) {
    const version = Object(described).version;
    if (typeof version !== 'string')
        throw new Error('package.json has no version');
    return version;
}
//# sourceMappingURL=package.js.map