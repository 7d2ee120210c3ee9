/**
 * The answer of the identity provider proves no identity. For example, the answer is a refusal, is forged, has expired,
 * was used before, or belongs to another browser.
 */
export class NotVouchedFor extends Error {
    code;
    name = 'NotVouchedFor';
    constructor(code) {
        super(code);
        this.code = code;
    }
}
//# sourceMappingURL=not-vouched-for.js.map