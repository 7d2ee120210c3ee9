export const GUIDE_NAMES = [
  'overview',
  'investigation',
  'contacts',
  'reporting',
  'configuration',
  'agent_tasks',
  'event_recovery',
] as const;
export type GuideName = (typeof GUIDE_NAMES)[number];
