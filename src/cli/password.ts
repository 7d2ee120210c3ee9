import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { hashPassword, isPassword } from '../auth/passwords.ts';
import { Refused } from './output.ts';

/** Where a password comes from: a pipe, or somebody at a terminal. */
export interface PasswordSource {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Where questions go: never standard output. */
  readonly questions: NodeJS.WritableStream;
}

/** More than the longest password has in any encoding. */
const INPUT_MAX = 8_192;

/** What the store keeps of a password from standard input: all of it up to one line end. */
export async function pipedPassword({ input }: PasswordSource): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of input) {
    const bytes = Buffer.from(part);
    length += bytes.length;
    if (length > INPUT_MAX) throw new Refused(FORM);
    parts.push(bytes);
  }
  const bytes = Buffer.concat(parts);
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes)) throw new Refused('The password is not in UTF-8.');
  return hashed(text.replace(/\r?\n$/, ''));
}

/** What the store keeps of a password that is typed twice, unseen; undefined when nobody is there to type it. */
export async function typedPassword({ input, questions }: PasswordSource): Promise<string | undefined> {
  if (input.isTTY !== true) return undefined;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true, historySize: 0 });
  const stopped = new AbortController();
  for (const end of ['SIGINT', 'close'] as const) lines.once(end, () => stopped.abort());
  const ask = async (question: string): Promise<string> => {
    questions.write(question);
    const answer = await lines.question('', { signal: stopped.signal }).catch((cause: unknown) => {
      throw new Refused('No password was given; nothing has changed.', { cause });
    });
    questions.write('\n');
    return answer;
  };
  try {
    const first = await ask('Password: ');
    if (!isPassword(first)) throw new Refused(FORM);
    if ((await ask('Once more: ')) !== first) throw new Refused('The two are not the same; nothing has changed.');
    return await hashed(first);
  } finally {
    lines.close();
  }
}

const FORM = 'A password has 12 to 256 characters.';

async function hashed(password: string): Promise<string> {
  if (!isPassword(password)) throw new Refused(FORM);
  return hashPassword(password);
}
