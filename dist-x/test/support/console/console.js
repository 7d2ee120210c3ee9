import { createHmac } from 'node:crypto';
import { digestOf, newSecret } from '../../../src/auth/tokens.js';
import { BASE_URL } from '../gateway.js';
import { newPerson, post, SAME } from '../oauth/oauth.js';
/** Another organization in every store of these tests. */
export const RIVAL = 2001;
export async function addRival({ database: { sql } }) {
    await sql `INSERT INTO platform.organization (tenant, external_id, name) VALUES (${RIVAL}, 'rival', 'Rival')`;
    await sql `INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
    VALUES (${RIVAL}, 1, 'rival', 'Rival website', 'UTC')`;
}
/** A person with a session that began `age` seconds ago. */
export async function signedInAs(gateway, role = 'owner', { tenant = 1, age = 0 } = {}) {
    const { id, email } = await newPerson(gateway, role, tenant);
    const secret = newSecret('session');
    await gateway.database.sql `INSERT INTO gateway.session (digest, person_id, created_at, expires_at)
    VALUES (${digestOf(secret)}, ${id}, now() - make_interval(secs => ${age}), now() + interval '1 hour')`;
    return { id, email, cookie: `igw_session=${secret}` };
}
export const look = (gateway, path, cookie) => gateway.ask(path, { unchecked: true, ...(cookie !== undefined && { headers: { cookie } }) });
/** The token of the form with this action on a page. Empty if the page has no such form. */
export const tokenIn = (page, action) => hiddenIn(page, action, 'csrf') ?? '';
/** A hidden value of the form with this action on a page. */
export function hiddenIn({ text }, action, name) {
    const [, form = ''] = text.split(`action="${action}"`);
    return new RegExp(`name="${name}" value="([^"]+)"`).exec(form.split('</form>')[0] ?? '')?.[1];
}
/** Sends the form of a page as a browser does. */
export async function submit(gateway, { cookie }, { page, action, fields = {}, headers = SAME }) {
    const shown = await look(gateway, page, cookie);
    const was = hiddenIn(shown, action, 'was');
    const hidden = { csrf: tokenIn(shown, action), ...(was !== undefined && { was }) };
    return post(gateway, action, { ...hidden, ...fields }, { ...headers, cookie });
}
export const ORIGIN = BASE_URL;
export const asksToSignIn = ({ text }) => text.includes('<h1>Sign in</h1>');
/** The token that a session's own secret makes for an action. */
export function forged({ cookie }, action) {
    return createHmac('sha256', cookie.split('=')[1] ?? '')
        .update(`console ${action}`)
        .digest('base64url');
}
//# sourceMappingURL=console.js.map