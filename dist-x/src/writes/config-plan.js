import { z } from 'zod';
import { defineWrite } from '../core/writes.js';
import { AiFeatureView } from '../views/ai-feature.js';
const Value = z.union([z.string(), z.boolean()]);
/** Previews a change of an AI feature. Only the ledger of writes changes. */
export const PlanChange = defineWrite()({
    name: 'config_plan',
    about: ['feature', AiFeatureView],
    result: z.object({
        version: z.int(),
        changes: z.array(z.object({ field: z.enum(['name', 'enabled']), from: Value, to: Value })),
    }),
    writer: 'platform.plan_changes',
});
//# sourceMappingURL=config-plan.js.map