import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.js';
const DEFINITION = /^(?:export )?(?:declare )?(?:abstract )?(?:class|enum|interface|type) ([A-Z]\w*)(?=[ <][^;]*?[={])/gm;
const namesIn = (text) => [...text.matchAll(DEFINITION)].flatMap(([, name]) => name ?? []);
it('one name of a type means one thing: no name is defined in two files of the program', () => {
    const files = ['src', 'tools', 'skills', 'prompts', 'resources'].flatMap((folder) => readdirSync(new URL(folder, packageRoot), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => `${folder}/${file}`));
    const places = new Map();
    for (const file of files) {
        for (const name of new Set(namesIn(readFileSync(new URL(file, packageRoot), 'utf8')))) {
            places.set(name, [...(places.get(name) ?? []), file]);
        }
    }
    expect(places.size).toBeGreaterThan(400);
    expect([...places].filter(([, defining]) => defining.length > 1)).toEqual([]);
});
it('finds every form of a definition, and no import', () => {
    const text = `import { type Imported, type Other } from './x.ts';\nimport type { Third } from './y.ts';
interface One { a: 1 }\nexport type Two<T> = T;\nexport abstract class Three {}\ntype Four =\n  | 1;\nexport interface Five<
  A,\n> {\n}\n`;
    expect(namesIn(text)).toEqual(['One', 'Two', 'Three', 'Four', 'Five']);
});
//# sourceMappingURL=words.test.js.map