import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.js';
const NEEDED = /\/test\/(integrations|documents)\//;
/** Installs the packages of test/integrations before a run that needs them: 200 MB that `npm ci` leaves out. */
export default class Clients {
    onTestRunStart(specifications) {
        if (!specifications.some(({ moduleId }) => NEEDED.test(moduleId)))
            return;
        execFileSync(fileURLToPath(new URL('.ci/integrations', packageRoot)), { stdio: ['ignore', 'ignore', 'inherit'] });
    }
}
//# sourceMappingURL=clients.js.map