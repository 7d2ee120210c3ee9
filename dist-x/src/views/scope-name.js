import { z } from 'zod';
import { named } from '../core/json-schema.js';
import { SCOPES } from '../core/scopes.js';
export const ScopeName = named('Scope', z.enum(SCOPES));
//# sourceMappingURL=scope-name.js.map