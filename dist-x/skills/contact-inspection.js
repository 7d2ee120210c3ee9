import { z } from 'zod';
import { ContactId } from '../src/core/ids.js';
import { defineSkill } from '../src/core/skill.js';
export default defineSkill({
    name: 'contact_inspection',
    title: 'Inspect a contact',
    description: 'One stored contact. Personal fields need the scope contact_read_pii and the data access pii.',
    tags: ['contacts'],
    tools: ['contact_get'],
    input: z.strictObject({ contact_id: ContactId.schema }),
    examples: [{ contact_id: 'ctc_1_1_89' }],
    run: ({ input, call }) => call('contact_get', input),
});
//# sourceMappingURL=contact-inspection.js.map