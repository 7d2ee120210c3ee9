import { writeCursor } from '../../../src/events/cursors.ts';
import { KEYS } from '../keys.ts';

const websites = new Map<string, string>();

export const noteSubscription = (credential: string, website: string): void => void websites.set(credential, website);

export const subscriptionId = (credential: string): string => `sub_${credential.slice(4)}`;

export const cursorOf = (credential: string): string =>
  writeCursor(KEYS, {
    subscription: subscriptionId(credential),
    revision: 1,
    credential,
    environment: 'test',
    positions: new Map([[websites.get(credential) ?? 'web_1_1', 0]]),
  });
