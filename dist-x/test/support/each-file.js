import { afterAll } from 'vitest';
import { endFile } from './ends.js';
// Vitest runs this module once for each test file.
afterAll(endFile);
//# sourceMappingURL=each-file.js.map