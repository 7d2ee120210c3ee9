import { z } from 'zod';
import { accepts } from '../core/accepted-values.ts';
import { AUDIT_SURFACES, type AuditRecordDocument } from '../core/audit-records.ts';
import { example } from '../core/example.ts';
import { hexId, OperationId, WebsiteId } from '../core/ids.ts';
import { named } from '../core/json-schema.ts';
import { ServiceText } from '../core/texts.ts';
import { Time } from '../core/view.ts';

/** What a client told about itself: a client of this credential, so no outsider. */
const told = (what: string) => example('desk', ServiceText.nullable().describe(what));

export const AuditRecordSchema: z.ZodType<AuditRecordDocument, AuditRecordDocument> = named(
  'AuditRecord',
  z
    .strictObject({
      audit_id: hexId('aud', 'record'),
      time: Time.describe('End of the call.'),
      organization_id: hexId('org', 'organization'),
      website_id: WebsiteId.optional(),
      installation_id: hexId('ins', 'installation').nullable().describe('Id of the installation.'),
      credential_id: hexId('crd', 'credential').nullable().describe('Id of the credential.'),
      person_id: hexId('prs', 'person who gave the consent').optional(),
      client: z
        .strictObject({ name: told('Name.'), version: told('Version.') })
        .optional()
        .describe('The client, as it told.'),
      address: example('203.0.113.0/24', ServiceText.nullable().describe('Client’s network, or address.')),
      surface: z.enum(AUDIT_SURFACES).describe('How the call came.'),
      operation: example('contact_get', ServiceText.describe('Name of the operation.')),
      targets: example(['ctc_1_1_89'], z.array(ServiceText).describe('Ids of the records. Of a list, of its website.')),
      count: example(25, z.int().optional().describe('Records of a list.')),
      outcome: example('ok', ServiceText.describe('ok, or the failure code.')),
      status: example(200, z.int().describe('HTTP status over REST.')),
      units: z.int().describe('Quota units.'),
      duration_ms: example(3.2, z.number().describe('Duration.')),
      request_id: example('0197e0a1-5d8a-7c30', ServiceText.nullable().describe('X-Request-Id.')),
      trace_id: example('4bf92f3577b34da6a3ce929d0e0e4736', ServiceText.optional().describe('Trace.')),
      operation_id: OperationId.optional(),
      replayed: z.boolean().optional().describe('True if the write was repeated.'),
    })
    .describe('Record of one call, without content.'),
);

/** An id that a record can have among its targets. */
export const AuditTarget = accepts(z.string().regex(/^[a-z]{2,4}_[a-z0-9_]{1,90}$/), 'an id such as ctc_1_1_89');

/** A code such as `not_found`, or the name of an operation. */
export const AuditName = accepts(z.string().regex(/^[a-z][a-z0-9_]{0,63}$/), 'a name such as contact_get');
