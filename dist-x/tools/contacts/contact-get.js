import { ContactId } from '../../src/core/ids.js';
import { data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { ContactView } from '../../src/views/contact.js';
export default defineTool({
    name: 'contact_get',
    title: 'Read a contact',
    summary: 'One stored contact. Personal fields need contact_read_pii and the pii flag.',
    rest: 'GET /api/v1/contacts/{contact_id}',
    effect: 'read',
    tag: 'Contacts',
    scopes: ['contact_read'],
    restrictions: 'refused',
    input: { path: { contact_id: ContactId.schema }, query: ofWebsite },
    output: data({ contact: ContactView.schema.describe('The contact.') }),
    async handle({ input, read }) {
        return { data: { contact: await read.one(ContactView, input.contact_id) } };
    },
});
//# sourceMappingURL=contact-get.js.map