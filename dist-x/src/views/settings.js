import { z } from 'zod';
import { accepts } from '../core/accepted-values.js';
import { example } from '../core/example.js';
import { Failure } from '../core/failures.js';
import { named } from '../core/json-schema.js';
import { likeLiteral, sql } from '../core/sql.js';
import { AI_TYPES } from './ai-feature.js';
export const AREA = '/ai/features';
export const SettingsPath = example(AREA, accepts(z
    .string()
    .max(200)
    .regex(/^\/ai\/features(\/aif_[0-9]{1,20}_[1-9][0-9]{0,18}_[1-9][0-9]{0,18})?$/), `${AREA}, or ${AREA}/{feature_id} for one item`).describe('Settings path: /ai/features, or /ai/features/{feature_id} for one item.'));
/** The feature id in a path. Undefined: all features. Throws `not_found` for a feature of another website. */
export function itemOf(path, websiteId) {
    if (path === AREA)
        return undefined;
    const id = path.slice(AREA.length + 1);
    if (!id.startsWith(`aif_${websiteId.slice('web_'.length)}_`))
        throw new Failure('not_found', { outside: true });
    return id;
}
const words = (type) => type.replaceAll('_', ' ');
const label = (type) => type === 'ask_ai' ? 'Ask AI' : words(type).replace(/^./, (c) => c.toUpperCase());
/** The settings search also finds the labels of the types. */
export const TYPE_LABELS = new Map(AI_TYPES.map((type) => [type, label(type)]));
/** SQL condition: a feature's name or type label contains the text, in any letter case. */
export function matching(text) {
    const needle = text.toLowerCase();
    const types = [...TYPE_LABELS].flatMap(([type, name]) => (name.toLowerCase().includes(needle) ? [type] : []));
    return sql `(a.name ILIKE ${`%${likeLiteral(text)}%`} OR a.type = ANY(${types}::text[]))`;
}
export const PLATFORM_NUMBERS = [
    { id: -1, name: 'all' },
    { id: 0, name: 'unknown' },
    { id: 1, name: 'chat' },
    { id: 2, name: 'email' },
    { id: 3, name: 'voice' },
    { id: 4, name: 'sms' },
    { id: 5, name: 'whatsapp' },
    { id: 6, name: 'messenger' },
    { id: 7, name: 'instagram' },
    { id: 8, name: 'telegram' },
    { id: 9, name: 'line' },
    { id: 10, name: 'api' },
];
export const PlanChanges = named('PlanChanges', accepts(z
    .strictObject({
    name: z.string().min(1).max(200).optional().describe('New name of the feature. Absent: the name stays.'),
    enabled: z.boolean().optional().describe('Whether the feature is in use. Absent: the state stays.'),
})
    .refine(({ name, enabled }) => name !== undefined || enabled !== undefined)
    .meta({ minProperties: 1 }), 'an object with the member name, the member enabled, or both'));
//# sourceMappingURL=settings.js.map