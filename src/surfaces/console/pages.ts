import type { ConsoleAct, ConsolePage } from './page.ts';
import { appActs, appPages } from './pages/apps.ts';
import { consentActs, consentPages } from './pages/consents.ts';
import { operationActs, operationPages } from './pages/operations.ts';
import { overview } from './pages/overview.ts';
import { personActs, personPages } from './pages/people.ts';

/** Every page of the console. The first one whose address matches answers. */
export const PAGES: readonly ConsolePage[] = [
  overview,
  ...appPages,
  ...operationPages,
  ...consentPages,
  ...personPages,
];

/** Every change that the console can make. */
export const ACTS: readonly ConsoleAct[] = [...appActs, ...operationActs, ...consentActs, ...personActs];
