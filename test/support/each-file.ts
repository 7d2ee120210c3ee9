import { afterAll, vi } from 'vitest';
import { beginFile, endFile } from './ends.ts';
import { cheapScrypt } from './oauth/scrypt.ts';

beginFile();
cheapScrypt();
const environment = { ...process.env };
const folder = process.cwd();

// Vitest runs this module once for each test file. The next file of the process finds the process of the run.
afterAll(async () => {
  await endFile();
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
  process.chdir(folder);
});
