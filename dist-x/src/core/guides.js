export const GUIDE_NAMES = [
    'overview',
    'investigation',
    'contacts',
    'reporting',
    'configuration',
    'agent_tasks',
    'event_recovery',
];
//# sourceMappingURL=guides.js.map