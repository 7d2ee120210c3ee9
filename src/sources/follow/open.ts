import type { Keyring } from '../../auth/keys.ts';
import type { SourceRecord } from '../../store/administration/sources.ts';
import { isSourceKind, type SourceKind, type SourceSettings } from '../kinds.ts';
import { SourceRefused } from './explain.ts';

/** What the store has for opening a source. The address and the token are encrypted. */
export interface StoredSource
  extends Pick<SourceRecord, 'id' | 'kind' | 'account' | 'mode' | 'period' | 'time_zone' | 'storage' | 'address'> {
  readonly organization?: string;
  readonly api_url?: string | null;
  readonly api_token?: string | null;
}

export function settingsOf(
  keys: Pick<Keyring, 'open'>,
  stored: StoredSource,
): { readonly kind: SourceKind; readonly settings: SourceSettings } {
  const { id, kind, account, mode, period, time_zone: timeZone, storage, organization } = stored;
  if (!isSourceKind(kind)) throw new SourceRefused(`This version of the gateway does not know the helpdesk ${kind}.`);
  const address = keys.open('source', stored.address);
  if (address === undefined)
    throw new SourceRefused(
      'The address of the source cannot be decrypted. GATEWAY_KEYS must hold the key with which the source was added.',
    );
  const { api_url: apiUrl, api_token: sealed } = stored;
  const token = sealed ? keys.open('source', sealed) : undefined;
  const more = {
    ...(organization !== undefined && { organization }),
    // Without the token, the writes say themselves what is wrong.
    ...(apiUrl && token !== undefined && { api: { apiUrl, token } }),
  };
  return { kind, settings: { address, account, mode, period, timeZone, storage, reader: id, ...more } };
}
