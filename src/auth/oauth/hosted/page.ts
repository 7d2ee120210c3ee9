import { createHash } from 'node:crypto';
import type { OAuthContext } from '../context.ts';

/**
 * A number for what the consent page of a hosted client shows: the client's document and the websites. The form of the
 * page holds this number, as the form for an issued credential holds the credential's revision.
 */
export function fingerprint(context: OAuthContext): number {
  const shown = [context.the('hosted'), context.the('offer')];
  return 1 + createHash('sha256').update(JSON.stringify(shown)).digest().readUIntBE(0, 3);
}
