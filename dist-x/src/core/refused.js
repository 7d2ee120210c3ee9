/**
 * A change that an operator or an owner asks for cannot be made. The message says why, and is for the person: the
 * command line and the console show it, without a stack.
 */
export class Refused extends Error {
    name = 'Refused';
    /** The message without the advice for the command line. The console shows this part. */
    sentence;
    /** `command` says what to do at the command line. */
    constructor(sentence, { command, cause } = {}) {
        super(command === undefined ? sentence : `${sentence} ${command}`, { cause });
        this.sentence = sentence.endsWith('.') ? sentence : `${sentence}.`;
    }
}
//# sourceMappingURL=refused.js.map