import { z } from 'zod';
import { defineWrite } from '../core/writes.ts';
import { AiFeatureView } from '../views/ai-feature.ts';
import type { PlanChanges } from '../views/settings.ts';

const Value = z.union([z.string(), z.boolean()]);

/** Previews a change of an AI feature. Only the ledger of writes changes. */
export const PlanChange = defineWrite<{
  feature: string;
  expected_version: number;
  changes: z.output<typeof PlanChanges>;
}>()({
  name: 'config_plan',
  about: ['feature', AiFeatureView],
  result: z.object({
    version: z.int(),
    changes: z.array(z.object({ field: z.enum(['name', 'enabled']), from: Value, to: Value })),
  }),
  writer: 'platform.plan_changes',
});
