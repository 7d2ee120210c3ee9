import { ForeignServerRefused, StoreUnreachable, sqlState } from '../../store/driver/errors.ts';
import { OtherInstallation } from '../source.ts';

/** The source cannot be read. The message is for the operator and contains no secret. */
export class SourceRefused extends Error {
  override readonly name = 'SourceRefused';
}

/**
 * Explains to the operator why a source cannot be read. Shows only the code of an unknown error, because its message
 * can contain data or a password.
 */
export function explainSource(error: unknown): string {
  if (error instanceof SourceRefused || error instanceof ForeignServerRefused) return error.message;
  if (error instanceof OtherInstallation) return OTHER_INSTALLATION;
  const cause = error instanceof StoreUnreachable ? error.cause : error;
  const code = sqlState(cause);
  const away = error instanceof StoreUnreachable ? AWAY : undefined;
  const reason = REASONS.find(([pattern]) => pattern.test(code))?.[1] ?? away;
  return reason ?? `Reading the source failed${code === '' ? '' : ` (${code})`}. The gateway tries again.`;
}

/** Ends with what the operator can do. */
export const OTHER_INSTALLATION =
  'The address leads to another helpdesk than the one whose records this website holds. The gateway writes none of its records. Wrong address: correct it. Second helpdesk: run source add with --organization. Replacement: run source remove with --with-data, then source add.';

const AWAY = 'The database of the helpdesk cannot be reached. The gateway tries again.';
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^28P01/, 'The database of the helpdesk refuses the user or the password of --url.'],
  [
    /^28/,
    'The database of the helpdesk refuses the role of --url: the role does not exist or may not log in, or pg_hba.conf does not let it in. If pg_hba.conf asks for TLS, add ?sslmode=verify-full to --url.',
  ],
  [/^3D000/, 'The database that --url names does not exist.'],
  [/^42501/, 'The role of --url lacks a right. Run the SQL of: gateway source grants chatwoot'],
  [/^ENOTFOUND|^EAI_AGAIN/, 'The host name of --url is unknown.'],
  [/^57P|^08|^53|^E[A-Z]+|^CONN/, AWAY],
  [/^GW005/, 'A person was erased while the source was read. The gateway tries again.'],
  [/^57014/, 'A statement in the database of the helpdesk took too long. The gateway tries again.'],
];
