/**
 * A change that an operator or an owner asks for cannot be made. The message says why, and is for the person: the
 * command line and the console show it, without a stack.
 */
export class Refused extends Error {
  override readonly name = 'Refused';
  /** The message without the advice for the command line. The console shows this part. */
  readonly sentence: string;

  /** `command` says what to do at the command line. */
  constructor(sentence: string, { command, cause }: { readonly command?: string; readonly cause?: unknown } = {}) {
    super(command === undefined ? sentence : `${sentence} ${command}`, { cause });
    this.sentence = sentence.endsWith('.') ? sentence : `${sentence}.`;
  }
}
