import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestSpecification } from 'vitest/node';
import { packageRoot } from '../../src/config/package.ts';

const NEEDED = /\/test\/(integrations|documents)\//;

/** Installs the packages of test/integrations before a run that needs them: 200 MB that `npm ci` leaves out. */
export default class Clients implements Reporter {
  onTestRunStart(specifications: readonly TestSpecification[]): void {
    if (!specifications.some(({ moduleId }) => NEEDED.test(moduleId))) return;
    execFileSync(fileURLToPath(new URL('.ci/integrations', packageRoot)), { stdio: ['ignore', 'ignore', 'inherit'] });
  }
}
