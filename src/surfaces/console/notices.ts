/** What a page says after a change. An address can name only these sentences, so no link can show words of its own. */
const NOTICES: ReadonlyMap<string, string> = new Map([
  ['credential_revoked', 'The credential is revoked. Its secret, its tokens and its consents have ended.'],
  ['switched_off', 'The operation is switched off for this app, from its next call on.'],
  ['switched_on', 'The operation is switched on again. The app still needs the permissions.'],
  ['consent_revoked', 'The consent is revoked. Its tokens have ended.'],
  ['person_added', 'The person is added.'],
  ['role_changed', 'The role is changed.'],
  ['person_disabled', 'The person is disabled. Sessions and consents of the person have ended.'],
  ['person_enabled', 'The person can sign in again.'],
]);

export const noticeOf = (code: string | undefined): string | undefined =>
  code === undefined ? undefined : NOTICES.get(code);
