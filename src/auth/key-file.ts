import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../config/error.ts';
import { type Key, parseKeys } from '../config/key-list.ts';
import { closeToOthers, makeFolder, type Told } from '../store/embedded/data-folder.ts';
import { Keyring } from './keys.ts';

const FILE = 'keys';

/** What the configuration says about the keys. */
interface KeySettings {
  /** The keys of GATEWAY_KEYS. */
  readonly keys: readonly Key[] | undefined;
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
}

/**
 * Returns the keys in GATEWAY_KEYS. Without this setting, the first start creates a key file (mode 0600) in the data
 * directory. Replicas on several machines need the setting, or they refuse each other's cursors.
 */
export async function openKeys({ keys, dataDir, databaseUrl }: KeySettings, told?: Told): Promise<Keyring> {
  if (keys) return new Keyring(keys);
  const path = join(dataDir, FILE);
  const kept = parseKeys((await readFile(path, 'utf8').catch(() => made(dataDir, path))).trim());
  if (!kept)
    throw new ConfigError(
      `The file ${FILE} in GATEWAY_DATA_DIR must hold kid:KEY, where KEY is 32 bytes in base64. Restore the file.`,
    );
  // Without `databaseUrl`, the embedded store itself makes the folder unreadable for other users.
  if (told && databaseUrl !== undefined) closeToOthers(dataDir, told);
  return new Keyring(kept);
}

/**
 * Returns the keys for a command. A command seals values that the gateway must open, so both must use the same keys.
 *
 * With DATABASE_URL, a command creates no keys, because the gateway would not know them. A command uses a key file only
 * when GATEWAY_DATA_DIR is given, because the key file in the default folder can belong to another gateway.
 */
export async function openGivenKeys(config: KeySettings & { readonly dataDirGiven: boolean }): Promise<Keyring> {
  const kept = config.dataDirGiven && existsSync(join(config.dataDir, FILE));
  if (config.databaseUrl !== undefined && !config.keys && !kept) {
    throw new ConfigError(
      `GATEWAY_KEYS must be the keys of the gateway that serves DATABASE_URL. Alternatively, set GATEWAY_DATA_DIR to the folder that holds its file ${FILE}.`,
    );
  }
  return openKeys(config);
}

const unusable = (folder: string, cause: unknown): ConfigError =>
  new ConfigError(`GATEWAY_DATA_DIR must be ${folder}. Alternatively, give the keys in GATEWAY_KEYS.`, { cause });

/** Creates the key file atomically. If two processes start at once, both use the file of the first one. */
async function made(dataDir: string, path: string): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    makeFolder(dataDir);
    await writeFile(draft, `1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw unusable('a folder that this user may write', cause);
  }
  await link(draft, path)
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw unusable('a folder on a file system with hard links', error);
    })
    .finally(() => unlink(draft));
  return readFile(path, 'utf8');
}
