import type { Parameters } from '../../auth/oauth/parameters.ts';
import type { AdministratorDesk, AdministratorRecord } from '../../gateway/console/desk.ts';
import type { Registry } from '../../gateway/registry.ts';
import type { Html } from '../http/html.ts';
import type { Format, ListQuery } from './query.ts';

/** What a page of the console gets. The session is checked before. */
export interface Asked {
  /** With the desk, the page calls functions of src/gateway/console. Every statement proves the role again. */
  readonly desk: AdministratorDesk;
  readonly person: AdministratorRecord;
  readonly query: ListQuery;
  /** The operations of the gateway. */
  readonly registry: Registry;
  /** The groups of the expression `path` that matched the address. */
  readonly parameters: readonly string[];
  /** Display name of the identity provider. Undefined without one. */
  readonly identity: string | undefined;
  /** A token for the form with this action. It works only in this session and for this action. */
  csrf(action: string): string;
}

/** A page inside the frame of the console. */
export interface ShownPage {
  readonly title: string;
  readonly body: Html;
  /** The status of the answer. By default 200. */
  readonly status?: number;
}

/** A list as a file. The columns have the names of the API. */
export interface Exported {
  readonly name: string;
  readonly format: Format;
  /** Of a CSV file, in their order. */
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** A page to look at. A GET never changes anything. */
export interface ConsolePage {
  /** The address, with `^` and `$`. */
  readonly path: RegExp;
  readonly operation: string;
  /** Approvers see the page, too. To them, every other page is one that does not exist. */
  readonly approvers?: true;
  /** Undefined: the organization has no such record. */
  show(asked: Asked): Promise<ShownPage | Exported | undefined>;
}

/** What a change tells. Exactly one audit entry names the person, the action and the target. */
export interface ChangeDone {
  /** The page to which the browser goes. */
  readonly to: string;
  /** The sentence that the page shows (notices.ts). */
  readonly notice: string;
  /** The id of what was changed. */
  readonly target: string;
  /** The name of the part of the target that was changed. */
  readonly part?: string;
  /** Shown at once, and never again, because it holds a secret. Without it, the browser goes to the page `to`. */
  readonly page?: ShownPage;
}

/** A change: the POST of a form. The gateway has checked origin, session, recent sign-in and token before `run`. */
export interface ConsoleAct {
  /** The action of the form, with `^` and `$`. */
  readonly path: RegExp;
  /** The name in the audit and in the metrics, such as `credential_revoke`. */
  readonly operation: string;
  /** Approvers may make the change, too. */
  readonly approvers?: true;
  /** The fields besides the token. A form with another field is refused. */
  readonly fields: readonly string[];
  /** The page that has the form. The browser returns there after a sign-in. */
  from(parameters: readonly string[]): string;
  /** The change answers with a page of its own, and not with a redirect. */
  readonly shows?: true;
  /** Undefined: the change was not made. Shown: the form again, with what is wrong. Nothing was changed then. */
  run(asked: Asked, form: Parameters): Promise<ChangeDone | ShownPage | undefined>;
}
