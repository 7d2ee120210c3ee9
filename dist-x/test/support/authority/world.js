import { noteSubscription, subscriptionId } from './planted.js';
/**
 * Matches a canary. Text columns with enumerations, digests or codes have no canary. test/laws/canaries.test.ts lists
 * these columns.
 */
export const CANARY = /Zq[0-9a-z]+qZ/g;
export const webId = (tenant, site) => `web_${tenant}_${site}`;
/** The day that reports cover. The day is fixed, so that nothing depends on the clock. */
export const DAY = '2026-11-10';
const at = (minute) => `${DAY}T09:${String(minute).padStart(2, '0')}:00.000Z`;
const content = (text) => Buffer.from(`content of ${text}`);
export class World {
    canaries = [];
    #sql;
    constructor(sql) {
        this.#sql = sql;
    }
    async organization(tenant) {
        const text = (column) => this.#canary(tenant, 0, 'organization', column, tenant);
        await this.#insert('organization', [
            {
                tenant,
                public_id: `org_${String(tenant).repeat(32)}`,
                external_id: text('external_id'),
                name: text('name'),
            },
        ]);
    }
    /** Plants rows of a website in channel 1, team 1 and subsite 1, and rows that belong to no conversation. */
    async base(tenant, site) {
        await this.#insert('website', [
            {
                tenant,
                site,
                external_id: this.#canary(tenant, site, 'website', 'external_id', site),
                name: this.#canary(tenant, site, 'website', 'name', site),
                time_zone: 'Europe/Berlin',
            },
        ]);
        await this.#plant(tenant, site, 'base');
        await this.#sql `DELETE FROM gateway.journal WHERE tenant = ${tenant} AND site = ${site}`;
        await this.#sql `DELETE FROM gateway.journal_head WHERE tenant = ${tenant} AND site = ${site}`;
        await this.#sql `INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at)
      VALUES (${tenant}, ${site}, 1, 'conversation.changed', ${at(1)})`;
        await this.#sql `INSERT INTO gateway.journal_head (tenant, site, position) VALUES (${tenant}, ${site}, 1)`;
        await this.#sql `INSERT INTO platform.native_id (tenant, site, kind, last) VALUES (${tenant}, ${site}, 'note', 100)`;
    }
    /**
     * Plants conversation 2 with its records in channel 2, team 2 and subsite 2. Also plants conversation 5, which is in
     * no channel, team or subsite.
     */
    async away(tenant, site) {
        await this.#plant(tenant, site, 'away');
    }
    async whole() {
        for (const tenant of [1, 2]) {
            await this.organization(tenant);
            for (const site of [1, 2]) {
                await this.base(tenant, site);
                await this.away(tenant, site);
            }
        }
        return this;
    }
    async #plant(tenant, site, part) {
        for (const [table, rows] of Object.entries(rowsOf(part))) {
            const filled = rows.map((row) => {
                const id = Number(row['id'] ?? 0);
                const text = (column) => this.#canary(tenant, site, table, column, id);
                return Object.fromEntries([
                    ...(table.includes('_contact') ? [] : [['external_id', text('external_id')]]),
                    ...Object.entries(row).map(([column, value]) => [
                        column,
                        typeof value === 'function' ? value(() => text(column)) : value,
                    ]),
                    ['tenant', tenant],
                    ['site', site],
                ]);
            });
            await this.#insert(table, filled);
            if (table !== 'file')
                continue;
            for (const row of filled) {
                const bytes = content(this.#canary(tenant, site, 'file_chunk', 'bytes', Number(row['id'])));
                await this.#sql `UPDATE platform.file SET size = ${bytes.length}
          WHERE tenant = ${tenant} AND site = ${site} AND id = ${row['id']}`;
                await this.#sql `INSERT INTO platform.file_chunk (tenant, site, file_id, chunk, bytes)
          VALUES (${tenant}, ${site}, ${row['id']}, 0, ${bytes})`;
            }
        }
    }
    #canary(tenant, site, table, column, row) {
        const known = this.canaries.find((one) => one.tenant === tenant &&
            one.site === site &&
            one.table === table &&
            one.column === column &&
            one.row === row &&
            column !== 'topics');
        if (known)
            return known.text;
        const text = `Zq${(this.canaries.length + 46_656).toString(36)}qZ`;
        this.canaries.push({ tenant, site, table, column, row, text });
        return text;
    }
    async #insert(table, rows) {
        // The driver uses the columns of the first row for all rows. Rows with different columns therefore need separate
        // statements.
        const alike = new Map();
        for (const row of rows) {
            const columns = Object.keys(row).join();
            alike.set(columns, [...(alike.get(columns) ?? []), row]);
        }
        for (const some of alike.values()) {
            await this.#sql `INSERT INTO ${this.#sql(`platform.${table}`)} ${this.#sql(some)}`;
        }
    }
}
const text = (canary) => canary();
const url = (canary) => `https://example.test/${canary()}`;
const media = (canary) => `application/x-${canary()}`;
const list = (canary) => [canary()];
/** A number by which customer_find finds the contacts. */
export const PHONE = '3090182012';
/** A text that a search for ECHO finds. */
export const ECHO = 'echo';
const spoken = (canary) => `${canary()} ${ECHO}`;
/** Only internal messages have this word. */
export const ASIDE = 'aside';
const whispered = (canary) => `${canary()} ${ECHO} ${ASIDE}`;
const number = (canary) => `${canary()}${PHONE}`;
const conversation = (id, visitor, place, operator) => ({
    id,
    visitor_id: visitor,
    channel_id: place,
    team_id: place,
    subsite_id: place,
    operator_id: operator,
    status: 'closed',
    platform: 'chat',
    language: text,
    subject: spoken,
    disposition: text,
    rating_label: text,
    rating_score: 4,
    created_at: at(id),
    updated_at: at(30 + id),
    first_response_at: at(id + 1),
    closed_at: at(50),
});
const message = (id, conversation_id, author, author_id, more = {}) => ({
    id,
    conversation_id,
    author_type: author,
    author_id,
    visibility: 'public',
    kind: 'text',
    text: spoken,
    language: text,
    created_at: at(id + 5),
    edited_at: null,
    delivery_status: 'sent',
    in_reply_to: null,
    ai_generated: false,
    ai_feature_id: null,
    redacted: false,
    ...more,
});
const file = (id, conversation_id, message_id) => ({
    id,
    conversation_id,
    message_id,
    name: text,
    media_type: media,
    size: 1,
    version: String(id).repeat(32).slice(0, 32),
    sha256: null,
    created_at: at(20),
});
const person = (id, deleted = false) => ({
    id,
    name: spoken,
    first_name: text,
    last_name: text,
    email: text,
    mobile: text,
    mobile_e164: text,
    phone: text,
    phone_e164: number,
    company: text,
    language: text,
    country: 'DE',
    time_zone: text,
    deleted,
    created_at: at(1),
    updated_at: at(2),
});
const result = (id, conversation_id) => ({
    id,
    conversation_id,
    topics: list,
    sentiment: 0.5,
    confidence: 0.9,
    resolution: text,
    first_contact_resolved: true,
    outcome: text,
});
function rowsOf(part) {
    if (part === 'away') {
        return {
            conversation: [conversation(2, 1, 2, 2), conversation(5, 4, null, null)],
            conversation_contact: [
                { conversation_id: 2, contact_id: 2 },
                { conversation_id: 5, contact_id: 1 },
            ],
            message: [
                message(8, 2, 'visitor', 1),
                message(9, 2, 'operator', 2, { visibility: 'internal', text: whispered }),
                message(10, 2, 'bot', 2, { ai_generated: true, ai_feature_id: 1 }),
                message(11, 5, 'visitor', 4),
            ],
            file: [file(3, 2, 8), file(4, 2, 9)],
            ai_result: [result(2, 2)],
        };
    }
    return {
        channel: [1, 2].map((id) => ({ id, name: text, platform: 'chat' })),
        team: [1, 2].map((id) => ({ id, name: text })),
        subsite: [1, 2].map((id) => ({ id, name: text })),
        operator: [
            { id: 1, name: text, email: text, role: 'admin', team_ids: [1, 2] },
            { id: 2, name: text, email: text, role: 'bot', team_ids: [2] },
            { id: 3, name: text, email: null, role: 'operator', enabled: false, team_ids: [] },
        ],
        contact: [person(1), { ...person(2), mobile_e164: null }, person(3, true)],
        visitor: [1, 2, 3, 4].map((id) => ({ id, nickname: text, created_at: at(1), last_seen_at: at(40) })),
        visitor_contact: [
            { visitor_id: 1, contact_id: 1 },
            { visitor_id: 1, contact_id: 2 },
            { visitor_id: 2, contact_id: 1 },
            { visitor_id: 2, contact_id: 3 },
            { visitor_id: 3, contact_id: 3 },
            { visitor_id: 4, contact_id: 1 },
        ],
        ai_feature: [
            { id: 1, name: text, type: 'language_detection', versions: [1, 2], active_version: 2 },
            { id: 2, name: text, type: 'autopilot', versions: [1], active_version: null },
            { id: 3, name: text, type: 'unsupported', versions: [1], active_version: 1 },
        ],
        conversation: [conversation(1, 1, 1, 1), conversation(3, 2, 1, null)],
        conversation_contact: [
            { conversation_id: 1, contact_id: 1 },
            { conversation_id: 1, contact_id: 3 },
            { conversation_id: 3, contact_id: 2 },
        ],
        message: [
            message(1, 1, 'visitor', 1),
            message(2, 1, 'operator', 1),
            message(3, 1, 'bot', 2, { ai_generated: true, ai_feature_id: 1 }),
            message(4, 1, 'operator', 1, { visibility: 'internal', text: whispered }),
            message(5, 1, 'visitor', 1, { redacted: true, in_reply_to: 2 }),
            message(6, 1, 'system', null),
            message(7, 3, 'visitor', 2),
        ],
        file: [file(1, 1, 1), file(2, 1, 4)],
        note: [
            { id: 1, visitor_id: 1, operator_id: 1, title: text, text: spoken, created_at: at(3) },
            { id: 2, visitor_id: 2, operator_id: 2, title: text, text: spoken, created_at: at(4) },
            { id: 3, visitor_id: 3, operator_id: null, title: null, text: spoken, created_at: at(5) },
        ],
        disposition: [
            { id: 1, value: text, label: text, group_name: text },
            { id: 2, value: text, label: text, group_name: null, enabled: false },
        ],
        saved_response: [
            { id: 1, language: 'en', label: text, content: text, category_name: text, shortcut: text },
            { id: 2, language: 'de', label: text, content: text, category_name: text, shortcut: text },
            { id: 3, language: 'en', label: text, content: text, category_name: text, shortcut: text, scope: 'team' },
        ].map((row) => ({ scope: 'global', ...row })),
        saved_link: [
            { id: 1, label: text, url },
            { id: 2, label: text, url, kind: 'dynamic' },
            { id: 3, label: text, url, kind: 'scripted' },
            { id: 4, label: text, url, scope: 'subsite' },
        ].map((row) => ({ kind: 'static', scope: 'global', ...row })),
        offer: [1, 2].map((id) => ({
            id,
            name: text,
            type: 'banner',
            status: 'active',
            url,
            starts_at: null,
            ends_at: null,
        })),
        ai_result: [result(1, 1)],
    };
}
export const receiptId = (credential) => `op_${credential.slice(4).repeat(2)}`;
/**
 * Plants a receipt of a write by the credential at its current revision, and a subscription of the installation to the
 * website.
 */
export async function plantReceipt(sql, credential, tenant = 1, site = 1) {
    await sql `INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status)
    SELECT ${receiptId(credential)}, id, revision, ${tenant}, ${site}, 'config_plan', 'acknowledged'
      FROM gateway.credential WHERE id = ${credential} ON CONFLICT DO NOTHING`;
    await sql `INSERT INTO gateway.subscription (id, installation_id, tenant, sites, event_types, start)
    SELECT ${subscriptionId(credential)}, installation_id, ${tenant}, ARRAY[${site}]::bigint[], '{conversation.*}', 'beginning'
      FROM gateway.credential WHERE id = ${credential} ON CONFLICT DO NOTHING`;
    noteSubscription(credential, webId(tenant, site));
}
//# sourceMappingURL=world.js.map