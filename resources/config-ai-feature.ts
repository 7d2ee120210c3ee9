import { parseId } from '../src/core/ids.ts';
import { defineResource } from '../src/core/resource.ts';

export default defineResource({
  uri: 'gateway://config/ai/features/{feature_id}',
  name: 'config-ai-feature',
  title: 'AI feature',
  description: 'One AI feature: name, type, state and active version.',
  mimeType: 'application/json',
  tool: 'config_get',
  // The id names its website; where it names none, the operation misses its website_id and refuses.
  input: ({ feature_id = '' }) => ({
    website_id: parseId(feature_id)?.website,
    path: `/ai/features/${feature_id}`,
  }),
});
