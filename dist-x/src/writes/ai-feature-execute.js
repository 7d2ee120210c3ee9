import { z } from 'zod';
import { Failure } from '../core/failures.js';
import { defineWrite } from '../core/writes.js';
import { detectInThread } from '../native/thread.js';
import { AiFeatureView, LanguageCode } from '../views/ai-feature.js';
/** Records a run of a language detection. The record does not contain the text. */
export const RunDetection = defineWrite()({
    name: 'ai_feature_execute',
    about: ['feature', AiFeatureView],
    result: z.object({ version: z.int(), language: z.string().nullable() }),
    writer: 'platform.run_detections',
});
/** Returns the language of a text as an ISO 639-1 code. `null` means that the language is unknown. */
export async function languageOf(text) {
    const language = await detectInThread(text);
    if (language === undefined)
        throw new Failure('service_unavailable', { retryAfter: 1 });
    return LanguageCode.nullable().parse(language);
}
//# sourceMappingURL=ai-feature-execute.js.map