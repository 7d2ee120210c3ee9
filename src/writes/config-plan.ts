import { z } from 'zod';
import { AiFeatureId } from '../core/ids.ts';
import { defineWrite } from '../core/writes.ts';
import { AiFeatureView, ExpectedVersion } from '../views/ai-feature.ts';
import { PlanChanges } from '../views/settings.ts';

const Value = z.union([z.string(), z.boolean()]);

/** Previews a change of an AI feature. Only the ledger of writes changes. */
export const PlanChange = defineWrite({
  name: 'config_plan',
  about: ['feature', AiFeatureView],
  command: z.strictObject({ feature: AiFeatureId.schema, expected_version: ExpectedVersion, changes: PlanChanges }),
  result: z.object({
    version: z.int(),
    changes: z.array(z.object({ field: z.enum(['name', 'enabled']), from: Value, to: Value })),
  }),
  writer: 'platform.plan_changes',
});
