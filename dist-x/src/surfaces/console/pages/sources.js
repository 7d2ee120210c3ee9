import { websiteNames } from '../../../gateway/console/administration.js';
import { countRecords, findSource, listRejects, listSources, } from '../../../gateway/console/sources.js';
import { html } from '../../http/html.js';
import { named, plain } from '../../http/pages/shell.js';
import { heading } from '../frame.js';
import { actForm, atMost, dangerous, facts, state, time } from '../parts.js';
import { empty, exported, list, table } from '../table.js';
export const SOURCES = '/console/sources';
/** The longest text of a helpdesk that a page shows. */
const SHOWN = 500;
const STATES = [
    ['following', 'Following'],
    ['loading', 'Loading'],
    ['failing', 'Failing'],
    ['paused', 'Paused'],
];
const TONES = { following: 'good', loading: 'good', failing: 'bad', paused: 'off' };
/** What a message for the command line means in the console. */
export const told = (text) => plain(text, SHOWN).replaceAll(' of --url', '').replaceAll('--url', 'the address');
const nameOf = ({ kind, account }) => html `${kind === 'chatwoot' ? 'Chatwoot' : named(kind)}, account ${named(account)}`;
function lag({ lag_seconds: seconds, behind }) {
    if (seconds === null)
        return 'unknown';
    return `${Math.round(seconds)} s${behind === null ? '' : `, ${behind} changes wait`}`;
}
const sourceList = {
    path: /^\/console\/sources$/,
    operation: 'console_sources',
    async show(asked) {
        const { desk, query } = asked;
        const search = {
            text: query.text('q'),
            state: query.one('state', ['following', 'loading', 'failing', 'paused']),
        };
        const [{ rows, total }, names] = await Promise.all([listSources(desk, search, query.slice), websiteNames(desk)]);
        const file = exported(asked, 'sources', rows.map(sourceDocument));
        if (file)
            return file;
        return {
            title: 'Sources',
            body: html `${heading('Sources', 'Helpdesks whose records the gateway follows.')}
<p class="do"><a class="button plain" href="${SOURCES}/new">Add a source</a></p>
${list({
                path: SOURCES,
                query,
                noun: ['source', 'sources'],
                total,
                filters: [
                    { name: 'q', label: 'Account or website id' },
                    { name: 'state', label: 'State', choices: STATES },
                ],
                table: table('Sources', [
                    { label: 'Source', kind: 'name' },
                    { label: 'Website' },
                    { label: 'State' },
                    { label: 'Behind' },
                    { label: 'Rejected', kind: 'number' },
                    { label: 'Last success' },
                ], rows.map((one) => [
                    html `<a href="${SOURCES}/${one.id}">${nameOf(one)}</a>`,
                    one.website_id === null ? 'not written yet' : named(names.get(one.website_id) ?? one.website_id),
                    state(one.state, TONES[one.state]),
                    lag(one),
                    atMost(one.rejects),
                    one.last_success_at ? time(one.last_success_at) : 'none',
                ])),
                empty: empty('No source yet', html `A source keeps the records of a website up to date from the database of your helpdesk.
<a href="${SOURCES}/new">Add a source</a>`),
            })}`,
        };
    },
};
const sourceDocument = (one) => ({
    source_id: one.id,
    kind: one.kind,
    account: one.account,
    website_id: one.website_id,
    mode: one.mode,
    state: one.state,
    lag_seconds: one.lag_seconds,
    behind: one.behind,
    rejects: one.rejects,
    last_success_at: one.last_success_at,
    last_error: one.last_error,
    compared_at: one.compared_at,
    writes_back: one.writes_back,
    created_at: one.created_at,
});
const sourcePage = {
    path: /^\/console\/sources\/(src_[a-f0-9]{32})$/,
    operation: 'console_source',
    async show(asked) {
        const { desk, query, parameters } = asked;
        const [id = ''] = parameters;
        const [one, names, rejects] = await Promise.all([
            findSource(desk, id),
            websiteNames(desk),
            listRejects(desk, id, query.slice),
        ]);
        if (!one)
            return undefined;
        const file = exported(asked, `rejects-${id}`, rejects.rows.map(rejectDocument));
        if (file)
            return file;
        const counted = Object.entries(await countRecords(desk, one)).filter(([, n]) => n > 0);
        const unmapped = Object.entries(one.unmapped).filter(([, n]) => n > 0);
        return {
            title: `Source ${one.kind} ${one.account}`,
            body: html `<p class="up"><a href="${SOURCES}">Sources</a></p>
${heading(nameOf(one))}
${one.last_error === null ? undefined : html `<div class="problem" role="alert"><p>Reading fails</p><p>${told(one.last_error)}</p></div>`}
${facts([
                [
                    'State',
                    html `${state(one.state, TONES[one.state])}${alone(one) ? html ` <span class="small">no gateway runs it now</span>` : undefined}`,
                ],
                one.progress
                    ? [
                        'Progress',
                        `${one.progress.phase}: ${one.progress.done}${one.progress.total === null ? '' : ` of ${one.progress.total}`} records`,
                    ]
                    : undefined,
                ['Behind', lag(one)],
                ['Last success', one.last_success_at ? time(one.last_success_at) : 'none'],
                ['Compared', one.compared_at ? time(one.compared_at) : 'never'],
                ['Website', one.website_id === null ? 'not written yet' : named(names.get(one.website_id) ?? one.website_id)],
                ['Reads by', one.mode === 'poll' ? `polling, every ${one.period} s` : 'triggers (live)'],
                [
                    'Records',
                    counted.length === 0
                        ? 'none'
                        : counted.map(([name, n]) => `${atMost(n)} ${name.replaceAll('_', ' ')}${n === 1 ? '' : 's'}`).join(', '),
                ],
                unmapped.length === 0
                    ? undefined
                    : ['Without a place', unmapped.map(([name, n]) => `${n} ${name.replaceAll('_', ' ')}`).join(', ')],
                ['Writes go back', one.writes_back ? 'Yes' : 'No: notes and dispositions stay in the gateway'],
                ['Added', time(one.created_at)],
                ['Id', html `<code>${one.id}</code>`],
            ])}
${findings(one)}
<div class="acts">
${one.state === 'paused' ? undefined : actForm(asked, { action: `${SOURCES}/${id}/check`, button: 'Compare all records', tone: 'plain' })}
${actForm(asked, one.state === 'paused' ? { action: `${SOURCES}/${id}/resume`, button: 'Resume' } : { action: `${SOURCES}/${id}/pause`, button: 'Pause', tone: 'plain' })}
</div>
<h2 id="rejects">Rejected rows</h2>
<p class="small">Rows of the helpdesk that the gateway could not take. All other rows are taken.</p>
${list({
                path: `${SOURCES}/${id}`,
                query,
                noun: ['reject', 'rejects'],
                total: rejects.total,
                filters: [],
                table: table('Rejected rows', [{ label: 'Row', kind: 'name' }, { label: 'Where' }, { label: 'Why' }], rejects.rows.map(({ origin, pointer, code }) => [
                    named(origin, SHOWN),
                    pointer === '' ? 'the whole row' : named(pointer, SHOWN),
                    html `<code>${code}</code>`,
                ])),
                empty: empty('No row is rejected', html `Every row of the helpdesk has its place in the gateway.`),
            })}
${removal(asked, one)}`,
        };
    },
};
/** True if the source should run and no gateway has run it for some seconds. */
const alone = ({ state: now, held, created_at }) => !held && (now === 'loading' || now === 'following') && Date.now() - created_at.getTime() > 3_000;
const rejectDocument = ({ origin, pointer, code }) => ({
    row: origin,
    pointer,
    code,
});
const findings = ({ findings: found, compare_error }) => {
    const all = [
        ...found,
        ...(compare_error === null ? [] : [{ level: 'degraded', about: 'comparison', text: compare_error }]),
    ];
    return all.length === 0 ? undefined : html `<h2>Findings of the last check</h2>${findingList(all)}`;
};
export const findingList = (all) => html `
<ul class="findings">${all.map(({ level, about, text }) => html `<li>${state(level, level === 'warning' ? 'off' : level === 'degraded' ? 'warn' : 'bad')} <strong>${named(about, SHOWN)}</strong> ${told(text)}</li>`)}</ul>`;
const removal = (asked, { id, website_id }) => html `
<div class="zone">${dangerous(asked, {
    summary: 'Remove this source',
    says: html `The gateway stops reading the helpdesk. Its records stay in the gateway, and grow old.`,
    action: `${SOURCES}/${id}/remove`,
    button: 'Remove source',
})}${website_id === null
    ? undefined
    : dangerous(asked, {
        summary: 'Remove this source with its records',
        says: html `The website <code>${website_id}</code> is deleted with all its records. Apps get 404 for them at once. This cannot be undone.`,
        action: `${SOURCES}/${id}/delete`,
        button: 'Remove source and records',
    })}</div>`;
export const sourcePages = [sourceList, sourcePage];
//# sourceMappingURL=sources.js.map