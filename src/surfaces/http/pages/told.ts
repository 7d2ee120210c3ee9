import { type NamedAs, type NamedPerson, type OpenedSession, peopleNamed } from '../../../auth/sign-in.ts';
import { networkOf } from '../../../flow/network.ts';
import { RateLimit } from '../../../flow/rate-limit.ts';
import { holderOfConsent } from '../../../gateway/console/desk.ts';
import { exchangeOf } from '../exchange.ts';
import type { Visit } from './visit.ts';

/** A lock lasts 15 minutes. In that time it is told once for a person, and 200 times for attempts from one network. */
const LOCKS = {
  person: new RateLimit({ perMinute: 1 / 15, burst: 1 }),
  network: new RateLimit({ perMinute: 200 / 15, burst: 200 }),
};

/** Appends a record of a way in or out to the books of the person's organization. */
export const tellPassed = (
  visit: Visit,
  { person: personId, organization_id: organizationId }: Pick<OpenedSession, 'person' | 'organization_id'>,
): void => tell(visit, { organizationId, personId }, [], 'ok');

/**
 * Appends a record of a person's answer on the consent page to the books. It names the consent, the credential and the
 * app that have access from now on. Without a consent, the person has denied.
 */
export async function tellAnswer(
  visit: Visit,
  { id: personId, organization_id: organizationId }: NamedPerson,
  consent: string | undefined,
): Promise<void> {
  // The consent is given already. If the store fails now, the record names the consent alone.
  const holder = consent === undefined ? [] : await holderOfConsent(visit.services.db, consent).catch(() => []);
  const targets = consent === undefined ? [] : [consent, ...holder];
  tell(visit, { organizationId, personId }, targets, consent === undefined ? 'access_denied' : 'ok');
}

/**
 * Appends a record of a failed sign-in to the books of the organizations with a person of this address. Nobody has
 * proved to be the person, so the record names the person as its target. The limits of sign-ins bound these records.
 */
export function tellRefused(visit: Visit, named: readonly NamedPerson[], outcome: string): void {
  for (const { id, organization_id: organizationId } of named) tell(visit, { organizationId }, [id], outcome);
}

/** Appends one record `locked`, in place of one for each attempt that the limits refuse. */
export async function tellLocked(visit: Visit, asked: NamedAs): Promise<void> {
  const network = networkOf(visit.wire.source);
  if (LOCKS.network.wait(network) > 0) return;
  LOCKS.network.failed(network);
  const named = await peopleNamed(visit.services.db, asked).catch(() => []);
  const untold = named.filter(({ id }) => LOCKS.person.wait(id) === 0);
  for (const { id } of untold) LOCKS.person.failed(id);
  tellRefused(visit, untold, 'locked');
}

const tell = (
  { request, record }: Visit,
  actor: { readonly organizationId: string; readonly personId?: string },
  targets: readonly string[],
  outcome: string,
): void =>
  exchangeOf(request)?.report({
    ...{ actor, operation: record.operation ?? 'sign_in', targets, outcome },
    ...{ status: 200, units: 0 }, // the end of the request says more (audited.ts)
  });
