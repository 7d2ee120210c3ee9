import { consoleTools } from '../../../src/process/console-tools.js';
import { KEYS } from '../keys.js';
/** Sources can be on this machine. Nothing listens at port 1 and port 9. */
export const testSources = () => ({ hosts: ['127.0.0.1', '127.0.0.1:1', '127.0.0.1:9'] });
/** What the console of a test gateway needs to change webhooks and sources. */
export const testTools = (baseUrl, receivers = new Set(), sources = testSources()) => consoleTools({
    config: { webhooks: { allowed: receivers }, sourceHosts: sources.hosts },
    keys: KEYS,
    get patience() {
        return sources.patience;
    },
}, baseUrl);
//# sourceMappingURL=tools.js.map