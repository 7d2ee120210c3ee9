import { z } from 'zod';
import { Failure } from '../core/failures.ts';
import { defineWrite } from '../core/writes.ts';
import { detectInThread } from '../native/thread.ts';
import { AiFeatureView, LanguageCode } from '../views/ai-feature.ts';

/** Records a run of a language detection. The record does not contain the text. */
export const RunDetection = defineWrite<{ feature: string; expected_version: number; language: string | null }>()({
  name: 'ai_feature_execute',
  about: ['feature', AiFeatureView],
  result: z.object({ version: z.int(), language: z.string().nullable() }),
  writer: 'platform.run_detections',
});

/** Returns the language of a text as an ISO 639-1 code. `null` means that the language is unknown. */
export async function languageOf(text: string): Promise<string | null> {
  const language = await detectInThread(text);
  if (language === undefined) throw new Failure('service_unavailable', { retryAfter: 1 });
  return LanguageCode.nullable().parse(language);
}
