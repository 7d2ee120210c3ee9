import { defineResource } from '../src/core/resource.js';
const RANGES = ['today', 'last-7-days', 'last-month'];
export default defineResource({
    uri: 'gateway://reports/ai-conversations/{website_id}/{range}',
    name: 'ai-conversations-report',
    title: 'AI conversation summary',
    description: `Counts, response times and results of AI conversations. The range is one of ${RANGES.join(', ')}.`,
    mimeType: 'application/json',
    tool: 'ai_conversation_summary',
    // This URI can carry the name of a range, but no start and no end. The range `date` needs both, so the tool refuses
    // it.
    input: ({ website_id, range }) => ({ website_id, range }),
    list: ({ websites }) => websites.flatMap((website_id) => RANGES.map((range) => ({ website_id, range }))),
});
//# sourceMappingURL=ai-conversations-report.js.map