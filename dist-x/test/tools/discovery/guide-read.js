import { plain, reads } from '../../support/authority/row.js';
/** A guide outside the grants does not exist for the caller, so the failure is `not_found` and not `not_permitted`. */
const guide = (name, ...oneOf) => ({
    variant: name,
    path: `/guides/${name}`,
    template: '/guides/{guide}',
    ...(oneOf.length > 0 && { hidden: { oneOf } }),
    members: { '': plain('guide', 'mime_type', 'content', 'coverage') },
});
export default reads(guide('overview'), guide('investigation', ['conversation_read']), guide('contacts', ['contact_read']), guide('reporting', ['reports_read']), guide('configuration', ['config_read']), guide('event_recovery', ['event_read']), 
// The guide of the A2A skills needs the grants of any skill.
guide('agent_tasks', ['conversation_read'], ['config_read'], ['contact_read'], ['ai_features_read', 'ai_execute']));
//# sourceMappingURL=guide-read.js.map