import { z } from 'zod';
import { accepts } from '../../src/core/accepted-values.js';
import { example } from '../../src/core/example.js';
import { Failure } from '../../src/core/failures.js';
import { writtenBy } from '../../src/core/texts.js';
import { data, defineTool, inWebsite } from '../../src/core/tool.js';
import { ExpectedVersion } from '../../src/views/ai-feature.js';
import { AREA, itemOf, PlanChanges, SettingsPath } from '../../src/views/settings.js';
import { PlanChange } from '../../src/writes/config-plan.js';
const ITEM = `${AREA}/{feature_id}`;
const Value = z.union([writtenBy('outsiders', z.string()), z.boolean()]);
export default defineTool({
    name: PlanChange.name,
    title: 'Preview a configuration change',
    summary: 'Preview a change to one AI feature. It is never made. A retry with the same key returns the first result.',
    rest: 'POST /api/v1/settings/plans',
    effect: 'write',
    performs: PlanChange,
    tag: 'Configuration',
    scopes: ['config_read', 'config_plan'],
    restrictions: 'refused',
    author: 'none',
    idempotency: 'required',
    emits: [],
    errors: ['operation_conflict'],
    input: {
        query: inWebsite,
        body: {
            path: example('/ai/features/aif_1_1_5', accepts(SettingsPath.describe('Settings path of one item: /ai/features/{feature_id}.'), ITEM)),
            expected_version: ExpectedVersion,
            changes: example({ enabled: false }, PlanChanges.describe('Proposed changes: name, enabled, or both.')),
        },
    },
    output: data({
        preview: z
            .strictObject({
            path: example('/ai/features/aif_1_1_5', SettingsPath),
            version: example(3, z.int().min(1).describe('Version of the AI feature that the preview compares the changes with.')),
            changes: example([{ field: 'enabled', from: true, to: false }], z
                .array(z.strictObject({
                field: z.enum(['name', 'enabled']).describe('Field that would change.'),
                from: Value.describe('Current value of the field.'),
                to: Value.describe('Proposed value of the field.'),
            }))
                .describe('Fields that would change. Fields that keep their value are left out.')),
            approval_required: z.literal(true).describe('Says whether a person must make the change. Always true.'),
            apply_available: z.literal(false).describe('Says whether an application can make the change. Always false.'),
            status: z
                .literal('preview_only')
                .describe('Status of the preview. Always preview_only, because the gateway changes nothing.'),
        })
            .describe('Preview of the changes.'),
    }),
    async handle({ input: { website_id, path, expected_version, changes }, perform }) {
        const feature = itemOf(path, website_id);
        if (feature === undefined) {
            throw new Failure('invalid_parameter', {
                errors: [{ pointer: '/path', code: 'invalid_parameter', expected: ITEM }],
            });
        }
        const plan = await perform({ feature, expected_version, changes });
        const preview = {
            path,
            ...plan,
            approval_required: true,
            apply_available: false,
            status: 'preview_only',
        };
        return { data: { preview } };
    },
});
//# sourceMappingURL=config-plan.js.map