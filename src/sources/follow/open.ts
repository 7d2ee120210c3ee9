import type { Keyring } from '../../auth/keys.ts';
import type { SourceRecord } from '../../store/administration/sources.ts';
import { isSourceKind, type SourceKind, type SourceSettings } from '../kinds.ts';
import { SourceRefused } from './explain.ts';

/** What the store has for opening a source. The address is encrypted. */
export interface StoredSource
  extends Pick<SourceRecord, 'id' | 'kind' | 'account' | 'mode' | 'period' | 'time_zone' | 'storage' | 'address'> {
  readonly organization?: string;
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
  const more = organization === undefined ? {} : { organization };
  return { kind, settings: { address, account, mode, period, timeZone, storage, reader: id, ...more } };
}
