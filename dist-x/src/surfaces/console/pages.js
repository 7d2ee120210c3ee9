import { approvalActs, approvalPages } from './pages/approvals.js';
import { appActs, appPages } from './pages/apps.js';
import { auditPages } from './pages/audit.js';
import { consentActs, consentPages } from './pages/consents.js';
import { operationActs, operationPages } from './pages/operations.js';
import { overview } from './pages/overview.js';
import { personActs, personPages } from './pages/people.js';
import { sourceActs, sourceChangePages } from './pages/source-changes.js';
import { sourcePages } from './pages/sources.js';
import { usagePages } from './pages/usage.js';
import { webhookActs, webhookChangePages } from './pages/webhook-changes.js';
import { webhookPages } from './pages/webhooks.js';
/** Every page of the console. The first one whose address matches answers. */
export const PAGES = [
    overview,
    ...appPages,
    ...operationPages,
    ...consentPages,
    ...approvalPages,
    ...personPages,
    ...usagePages,
    ...auditPages,
    ...webhookChangePages,
    ...webhookPages,
    ...sourceChangePages,
    ...sourcePages,
];
/** Every change that the console can make. */
export const ACTS = [
    ...appActs,
    ...operationActs,
    ...consentActs,
    ...approvalActs,
    ...personActs,
    ...webhookActs,
    ...sourceActs,
];
//# sourceMappingURL=pages.js.map