import { z } from 'zod';
import { AiFeatureId } from '../core/ids.ts';
import { defineWrite } from '../core/writes.ts';
import { AiFeatureView, ExpectedVersion, LanguageCode } from '../views/ai-feature.ts';

/** Records a run of a language detection. The record does not contain the text. */
export const RunDetection = defineWrite({
  name: 'ai_feature_execute',
  about: ['feature', AiFeatureView],
  command: z.strictObject({
    feature: AiFeatureId.schema,
    expected_version: ExpectedVersion,
    language: LanguageCode.nullable(),
  }),
  result: z.object({ version: z.int(), language: z.string().nullable() }),
  writer: 'platform.run_detections',
});

/** Returns the language of a text as an ISO 639-1 code. `null` means that the language is unknown. */
export async function languageOf(text: string): Promise<string | null> {
  // Load the language model only when a text arrives. Loading takes 0.4 s (measured), and most processes never need the
  // model.
  const { detectLanguage } = await import('../native/language.ts');
  return detectLanguage(text);
}
