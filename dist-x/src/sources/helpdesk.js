/**
 * The write had no effect. `refused`: it did not start, and a retry with the same key can succeed. `rejected`: the
 * helpdesk does not accept it. The message is for the operator's log and contains no customer data.
 */
export class NotPerformed extends Error {
    ending;
    status;
    name = 'NotPerformed';
    constructor(ending, message, options, status) {
        super(message, options);
        this.ending = ending;
        this.status = status;
    }
}
export const refused = (message, code = 'native_unavailable', cause) => new NotPerformed({ refused: code }, message, { cause });
//# sourceMappingURL=helpdesk.js.map