import { describe, expect, it } from 'vitest';
import type { AuditRecordDocument } from '../../src/core/audit-records.ts';
import { ocsfOf } from '../../src/gateway/audit-ocsf.ts';
import { loadTools } from '../../src/gateway/load.ts';
import { ACTS, PAGES } from '../../src/surfaces/console/pages.ts';

const [READ, OTHER] = [2, 99];

/** The activity that a SIEM sees for a record of this operation. */
function activityOf(operation: string, surface: AuditRecordDocument['surface']): unknown {
  const record = { audit_id: 'aud_1', time: '2026-11-29T00:00:00Z', organization_id: 'org_1', installation_id: null };
  const outcome = { outcome: 'ok', status: 200, units: 0, duration_ms: 1, request_id: null };
  const made = ocsfOf({ ...record, ...outcome, credential_id: null, address: null, surface, operation, targets: [] });
  return Object(made)['activity_id'];
}

describe('the activity of an OCSF event', () => {
  it('is Read for every read, and for no write, whether it was refused or not', async () => {
    const { all } = await loadTools();
    const wrong = all.filter(({ name, effect }) => (activityOf(name, 'rest') === READ) !== (effect === 'read'));
    expect([wrong.map(({ name }) => name), all.length > 50]).toEqual([[], true]);
  });

  it('is Read for every page of the console, and for no change', () => {
    expect(PAGES.filter(({ operation }) => activityOf(operation, 'page') !== READ)).toEqual([]);
    expect(ACTS.filter(({ operation }) => activityOf(operation, 'page') === READ)).toEqual([]);
    expect([PAGES.length > 20, ACTS.length > 20]).toEqual([true, true]);
  });

  it.each([
    ['console_sign_in', OTHER],
    ['oauth_sign_in', OTHER],
    ['console_sign_out', OTHER],
    ['console_link', OTHER],
    ['oauth_consent', 1],
    ['operation_switch_off', 3],
    ['person_role', 3],
    ['record', READ],
  ])('of %s is %i', (operation, activity) => {
    expect(activityOf(operation, 'page')).toBe(activity);
  });
});
