import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { openGivenKeys } from '../auth/key-file.ts';
import type { Config } from '../config/config.ts';
import { sendClaim, settlementOf } from '../events/webhooks/dispatcher.ts';
import { senderOptions } from '../outbound/sender.ts';
import { claimTest, type EndpointRecord } from '../store/administration/endpoints.ts';
import type { Database } from '../store/driver/postgres.ts';
import { settleDeliveries } from '../store/events/deliveries.ts';
import { Refused } from './output.ts';

/** Sends one test delivery from this process and records it in the log of deliveries. A failed test is not repeated. */
export async function testEndpoint(
  db: Database,
  config: Config,
  { id }: EndpointRecord,
): Promise<{ document: object; accepted: boolean }> {
  const keys = await openGivenKeys(config);
  const claim = await claimTest(db, id, `evt_${randomBytes(32).toString('hex')}`);
  if (!claim) throw new Refused(`Webhook ${id} is disabled, or its credential lost the grant for the website.`);
  const outcome = await sendClaim({ keys, sender: senderOptions(config.webhooks.allowed, config.baseUrl) }, claim);
  const settled = settlementOf(claim, outcome, []);
  while ((await settleDeliveries(db, [settled])).later.length > 0) await pause(50); // repeat while another statement locks the endpoint
  const { delivered, status, error } = settled;
  return {
    document: {
      endpoint_id: id,
      delivery_id: claim.id,
      event_id: claim.receipt.event_id,
      status: delivered ? 'delivered' : 'failed',
      response_status: status,
      error,
    },
    accepted: delivered,
  };
}
