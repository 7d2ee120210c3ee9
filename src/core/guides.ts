/** Names of the guides. src/gateway/guides.ts decides which credential may read which guide. */
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
