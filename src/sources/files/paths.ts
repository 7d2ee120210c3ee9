import { access, constants, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { sqlState as codeOf } from '../../store/driver/errors.ts';

/** The sentence for a file that cannot be read. `error` is the error of the system. */
export function unreadable(path: string, error: unknown): string {
  const code = codeOf(error);
  if (code === 'ENOENT') return `There is no file ${JSON.stringify(path)}.`;
  return `The file ${JSON.stringify(path)} cannot be read (${code || 'unknown error'}).`;
}

/**
 * The sentence for a file that cannot be written. Undefined when the file can be written. The import checks the file
 * before its work, because a failure at the end would hide the result of the import.
 */
export async function unwritableFile(path: string): Promise<string | undefined> {
  const folder = dirname(resolve(path));
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT')
      return `There is no folder ${JSON.stringify(folder)}. Make the folder, or name another file.`;
    return `The folder ${JSON.stringify(folder)} cannot be written (${code || 'unknown error'}).`;
  }
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() ? `${JSON.stringify(path)} is a folder. Name a file.` : undefined;
}
