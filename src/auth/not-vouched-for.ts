/**
 * The answer of the identity provider proves no identity. For example, the answer is a refusal, is forged, has expired,
 * was used before, or belongs to another browser.
 */
export class NotVouchedFor extends Error {
  override readonly name = 'NotVouchedFor';

  constructor(readonly code: string) {
    super(code);
  }
}
