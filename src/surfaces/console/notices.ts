/** What a page says after a change. An address can name only these sentences, so no link can show words of its own. */
const NOTICES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    credential_revoked: 'The credential is revoked. Its secret, its tokens and its consents have ended.',
    switched_off: 'The operation is switched off for this app, from its next call on.',
    switched_on: 'The operation is switched on again. The app still needs the permissions.',
    consent_revoked: 'The consent is revoked. Its tokens have ended.',
    write_approved: 'The write is approved, and has taken effect.',
    write_refused: 'The write is approved, but the data did not allow it. It had no effect.',
    write_unknown: 'The write is approved. The helpdesk did not answer, so the gateway will ask it for the outcome.',
    write_rejected: 'The write is rejected. It never takes effect.',
    webhook_added: 'The webhook is added.',
    webhook_changed: 'The webhook is changed.',
    webhook_enabled: 'The webhook is enabled. It gets notices of changes from now on.',
    webhook_disabled: 'The webhook is disabled. Waiting deliveries are dropped.',
    webhook_rotated: 'The signing secret is replaced.',
    webhook_accepted: 'The receiver accepted the test.',
    webhook_not_accepted: 'The receiver did not accept the test. The list of deliveries says why.',
    webhook_replayed: 'The notices are queued again.',
    webhook_nothing: 'There is nothing to send again: no notice of that time, or all of them are waiting already.',
    webhook_deleted: 'The webhook is deleted, with its queue and its log.',
    source_added: 'The source is added. A running gateway loads it now.',
    source_paused: 'The source is paused. Its records stay.',
    source_resumed: 'The source is running.',
    source_checking:
      'The gateway now compares all records of the helpdesk with its own. Reload this page to see the end.',
    source_removed: 'The source is removed. Its records stay.',
    source_deleted: 'The source and its records are removed.',
    source_outbox:
      'The source is removed, but the helpdesk could not be told. If no other source reads its outbox, run the statements at the end of its SQL there.',
    source_deleting:
      'The source is stopped, and apps get 404 for its records. The gateway deletes them in steps. The source leaves this list when the last record is gone.',
    source_deleting_outbox:
      'The source is stopped, and the gateway deletes its records in steps. The helpdesk could not be told. If no other source reads its outbox, run the statements at the end of its SQL there.',
    person_added: 'The person is added.',
    role_changed: 'The role is changed.',
    person_disabled: 'The person is disabled. Sessions and consents of the person have ended.',
    person_enabled: 'The person can sign in again.',
  }),
);

/** The pages to which changes lead, by the first word of the notice. Elsewhere, a link would claim what nobody has done. */
const PLACES: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    credential: /^\/console\/apps\/app_[^/]+$/,
    switched: /^\/console\/apps\/app_[^/]+\/operations$/,
    consent: /^\/console\/consents\/cns_/,
    write: /^\/console\/approvals\/op_/,
    webhook: /^\/console\/webhooks(\/whk_|$)/,
    source: /^\/console\/sources(\/src_|$)/,
    person: /^\/console\/people\/prs_/,
    role: /^\/console\/people\/prs_/,
  }),
);

/** The sentence of a notice on the page at `path`. Undefined if no change leads there with it. */
export const noticeOf = (code: string | undefined, path: string): string | undefined =>
  code !== undefined && PLACES.get(code.split('_')[0] ?? '')?.test(path) ? NOTICES.get(code) : undefined;
