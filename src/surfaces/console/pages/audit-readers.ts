import type { AuditReader } from '../../../gateway/console/audit.ts';
import { type Html, html } from '../../http/html.ts';
import { EMAIL, named } from '../../http/pages/shell.ts';
import { commands, shellWord, time } from '../parts.ts';
import { nameColumn, numberColumn, table } from '../table.ts';

/** Days for which the page of a record says who has read it. */
export const DAYS = 30;
/** Rows of readers on a page: those who have read most. */
const READERS = 50;

/** Who has read one record. */
export const readerPart = (target: string, readers: readonly AuditReader[]): Html => html`
<section><h2>Who read <code>${target}</code> in the last ${DAYS} days</h2>
${
  readers.length === 0
    ? html`<p>No call named this record.</p>`
    : table(
        'Readers of the record',
        [nameColumn('Who'), numberColumn('Read'), numberColumn('Refused or failed'), 'First', 'Last'],
        readers
          .slice(0, READERS)
          .map((one) => [readerOf(one), one.calls, one.failed, time(one.first_at), time(one.last_at)]),
      )
}
${
  readers.length > READERS
    ? html`<p class="small">The first ${READERS} of ${readers.length}. The command of the operator names all:</p>
${commands(`gateway audit readers ${shellWord(target)} --days ${DAYS}`)}`
    : undefined
}
<p class="small">Calls that showed the record in a list, or that named only its conversation or visitor, do not count.</p>
</section>`;

function readerOf({ app_id, app_name, person_id, email }: AuditReader): Html {
  const person =
    person_id === null
      ? undefined
      : html`<a href="/console/people/${person_id}">${named(email ?? person_id, EMAIL)}</a>`;
  const app = app_id === null ? undefined : html`<a href="/console/apps/${app_id}">${named(app_name ?? app_id)}</a>`;
  if (app && person) return html`${app} <span class="small">for ${person}</span>`;
  return app ?? person ?? html`The command line`;
}
