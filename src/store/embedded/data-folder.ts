import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import { errorCode, StoreUnavailable } from './unavailable.ts';

/** Whom a start tells what it has done, and what the operator has to do. */
export interface Told {
  readonly log: (message: string) => void;
  /** Absent where the process that serves has said it already. */
  readonly warn?: ((message: string) => void) | undefined;
}

/** Makes the data folder (mode 0700) if absent and proves that we may write in it. */
export function prepareDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir);
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StoreUnavailable(
      `The data folder ${dataDir} cannot be made or written (${errorCode(error) ?? 'unknown error'}): give this user ` +
        'write permission there, choose another folder with GATEWAY_DATA_DIR, or set DATABASE_URL.',
    );
  }
}

/** Folder by folder: Node's own recursive mkdir never ends below /proc. */
export function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST' || !statSync(folder).isDirectory()) throw error; // else another process was first
  }
}

/** All that a gateway makes in its data folder. */
const MADE =
  /^(postgres|postgres\.(lock|holders|running|log|log\.1|init-[0-9a-f]{12})|postgres-[a-z0-9]+-\d[\w.-]*|keys(\.[0-9a-f]{12})?|demo-token\.json)$/;
/** Files that nobody else may read. */
const SECRET = ['keys', 'demo-token.json', 'postgres.log', 'postgres.log.1'];

/**
 * Closes the data folder and the secret files in it to other users, and says so. A folder with files of somebody else's
 * is left alone: others may need them. `mode` is what the folder may have at most.
 */
export function closeToOthers(dataDir: string, { log, warn }: Told, mode = 0o700): void {
  const folder = realpathSync(dataDir);
  const { mode: found, uid } = statSync(folder);
  if ((found & 0o777 & ~mode) !== 0) {
    const foreign = readdirSync(folder).filter((name) => !MADE.test(name));
    const [first] = foreign;
    if (first === undefined && restrict(folder, mode)) {
      log(`the data folder ${folder} was open to other users (mode ${octal(found)}): its mode is ${octal(mode)} now`);
    } else {
      const why = uid !== process.geteuid?.() ? 'belongs to another user' : `holds files of others (${first})`;
      warn?.(
        `the data folder ${folder} is open to other users (mode ${octal(found)}) and ${why}: choose a folder of the ` +
          `gateway's own with GATEWAY_DATA_DIR, or close this one (chmod ${octal(mode)})`,
      );
    }
  }
  for (const name of SECRET) {
    if (restrict(join(folder, name), 0o600)) log(`${join(folder, name)} was open to other users: its mode is 0600 now`);
  }
}

/** Takes away what is beyond `mode`; whether there was such. Touches neither links nor what belongs to another user. */
function restrict(path: string, mode: number): boolean {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return false; // Absent, a link, or closed to us: not a file that we made.
  }
  try {
    const stat = fstatSync(fd);
    const ours = stat.uid === process.geteuid?.() && (stat.isDirectory() || (stat.isFile() && stat.nlink === 1));
    if (!ours || (stat.mode & 0o777 & ~mode) === 0) return false;
    fchmodSync(fd, stat.mode & mode);
    return true;
  } finally {
    closeSync(fd);
  }
}

const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0');
