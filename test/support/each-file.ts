import { afterAll } from 'vitest';
import { endFile } from './ends.ts';

// Vitest runs this module once for each test file.
afterAll(endFile);
