import { z } from 'zod';
import { named } from '../core/json-schema.ts';
import { SCOPES } from '../core/scopes.ts';

export const ScopeName = named('Scope', z.enum(SCOPES));
