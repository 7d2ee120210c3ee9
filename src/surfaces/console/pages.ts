import type { ConsoleAct, ConsolePage } from './page.ts';
import { approvalActs, approvalPages } from './pages/approvals.ts';
import { appActs, appPages } from './pages/apps.ts';
import { auditPages } from './pages/audit.ts';
import { consentActs, consentPages } from './pages/consents.ts';
import { operationActs, operationPages } from './pages/operations.ts';
import { overview } from './pages/overview.ts';
import { personActs, personPages } from './pages/people.ts';
import { sourceActs, sourceChangePages } from './pages/source-changes.ts';
import { sourcePages } from './pages/sources.ts';
import { usagePages } from './pages/usage.ts';
import { webhookActs, webhookChangePages } from './pages/webhook-changes.ts';
import { webhookPages } from './pages/webhooks.ts';

/** Every page of the console. The first one whose address matches answers. */
export const PAGES: readonly ConsolePage[] = [
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
export const ACTS: readonly ConsoleAct[] = [
  ...appActs,
  ...operationActs,
  ...consentActs,
  ...approvalActs,
  ...personActs,
  ...webhookActs,
  ...sourceActs,
];
