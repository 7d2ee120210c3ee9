import type { ImportRecordInput } from '../engine/records.ts';
import { eu, type Platform, type Site, us } from './organization.ts';

type Feature = Extract<ImportRecordInput, { type: 'ai_feature' }>;
type Versions = Feature['versions'];

const versions = (last: number, active: readonly number[]): Versions =>
  Array.from({ length: last }, (_, i) => ({ version: i + 1, active: active.includes(i + 1) }));

const onFirst: readonly (readonly [Feature['ai_type'], string, Versions, boolean?])[] = [
  ['autopilot', 'Lark autopilot', versions(4, [3, 4])],
  ['ask_ai', 'Ask the handbook', versions(2, [2])],
  ['copilot', 'Reply copilot', versions(5, [4])],
  ['translation', 'Live translation', versions(2, [1, 2])],
  ['language_detection', 'Language detection', versions(3, [3])],
  ['spam_checker', 'Spam checker', versions(2, [2])],
  ['spelling_grammar_check', 'Spelling and grammar', versions(1, [1])],
  ['rephrase', 'Friendlier wording', versions(2, [2])],
  ['chat_summary', 'Handover summary', versions(3, [2])],
  ['metrics', 'Conversation metrics', versions(1, [1])],
  ['scoring', 'Quality scoring', versions(2, [1]), false],
  ['product_recommendation', 'Gear recommendations', versions(2, [2])],
  ['email_autopilot', 'E-mail autopilot', versions(3, [3])],
  ['voice_autopilot', 'Phone autopilot', versions(2, [1])],
  ['citation_summary', 'Answer sources', versions(1, [1])],
  ['unsupported', 'Intent sorter (2023)', versions(1, [1]), false],
];

const onSecond: typeof onFirst = [
  ['autopilot', 'Lark Autopilot', versions(3, [2, 3])],
  ['email_autopilot', 'E-Mail-Autopilot', versions(2, [2])],
  ['language_detection', 'Spracherkennung', versions(2, [2])],
  ['translation', 'Übersetzung', versions(1, [1])],
  ['chat_summary', 'Zusammenfassung', versions(2, [1]), false],
  // This feature has no active version. The store keeps such a feature, but the API does not list it.
  ['scoring', 'Bewertung (Entwurf)', versions(2, [])],
];

export function featureRecords(): ImportRecordInput[] {
  return [us, eu].flatMap((site) =>
    (site === us ? onFirst : onSecond).map(([ai_type, name, all, enabled]): Feature => {
      const external_id = featureId(site, ai_type);
      return { type: 'ai_feature', external_id, website: site.website, name, ai_type, enabled, versions: all };
    }),
  );
}

export const featureId = (site: Site, type: Feature['ai_type']): string => `${site.key}-ai-${type}`;

export function answeringFeature(site: Site, platform: Platform): string | undefined {
  if (platform === 'email') return featureId(site, 'email_autopilot');
  if (platform !== 'voice') return featureId(site, 'autopilot');
  return site === us ? featureId(site, 'voice_autopilot') : undefined;
}
