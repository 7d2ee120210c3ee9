import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { newSecret, type SecretKind, wellFormed } from '../../src/auth/tokens.ts';
import { packageRoot } from '../../src/config/package.ts';

const SECRET = /\bigw(?:[ar]?_(?:live|test)|[a-z])_[0-9A-Za-z]{49}\b/g;
const found = (text: string): string[] => (text.match(SECRET) ?? []).filter(wellFormed);

const KINDS = {
  installation_live: true,
  installation_test: true,
  access_live: true,
  access_test: true,
  refresh_live: true,
  refresh_test: true,
  code: true,
  session: true,
  secret: true,
} satisfies Record<SecretKind, true>;

it('TK-05 a scanner finds every kind of secret in a text, and none that is mistyped', () => {
  const kinds = Object.keys(KINDS) as SecretKind[]; // Object.keys loses the literal types of the keys
  const secrets = kinds.map(newSecret);
  const text = secrets.map((secret, i) => `line ${i}: token="${secret}", next`).join('\n');
  expect(found(text)).toEqual(secrets);
  expect(found(text.replaceAll('", next', 'x", next'))).toEqual([]);
});

it('TK-05 none is in the repository', () => {
  const root = fileURLToPath(packageRoot);
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
  expect(files.length).toBeGreaterThan(300);
  const holding = files.filter((file) => found(readFileSync(`${root}/${file}`, 'utf8')).length > 0);
  expect(holding).toEqual([]);
});
