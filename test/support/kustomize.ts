import { execFileSync } from 'node:child_process';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { packageRoot } from '../../src/config/package.ts';
import { scratch } from './scratch.ts';

export const hasKubectl = ((): boolean => {
  try {
    return execFileSync('kubectl', ['kustomize', '--help'], { encoding: 'utf8' }).includes('kustomization');
  } catch {
    return false; // this machine has no kubectl
  }
})();

export const documentsOf = (text: string): unknown[] =>
  parseAllDocuments(text, { merge: true }).map((document) => document.toJS());

/** What kustomize builds from a folder of resources/kubernetes, with these files written over a copy of it. */
export function kustomized(folder: string, files: Readonly<Record<string, string>>): unknown[] {
  const copy = scratch('kustomize');
  try {
    cpSync(fileURLToPath(new URL('resources/kubernetes', packageRoot)), copy, { recursive: true });
    for (const [path, text] of Object.entries(files)) writeFileSync(join(copy, path), text);
    return documentsOf(execFileSync('kubectl', ['kustomize', join(copy, folder)], { encoding: 'utf8' }));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
