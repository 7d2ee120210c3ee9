import { Refused } from '../core/refused.js';
import { addSource, apiOf, apiProblem, databaseProblem, encryptedAddress, PERIOD, timeZoneProblem, tokenProblem, } from './administration.js';
/** The organizations for which this process is adding a source now. A check can take seconds, so each has one. */
const adding = new Set();
/**
 * Adds a source that an owner asks for. The owner may not make the gateway connect to other machines of its network, so
 * only hosts of GATEWAY_SOURCE_HOSTS are allowed, at the usual port or at the named one: a database on another machine
 * over TLS, and an API over https, or over http to a private address.
 */
export async function addTypedSource(door, hosts, typed) {
    const findings = [];
    const { tenant } = door.by;
    const request = requestOf(hosts, typed);
    if (typeof request === 'string')
        return { problem: request, findings };
    if (adding.has(tenant))
        return { problem: 'Another source is being added. Wait until it is there.', findings };
    adding.add(tenant);
    try {
        return { id: await addSource({ ...door, tell: (finding) => findings.push(finding) }, 'chatwoot', request) };
    }
    catch (error) {
        if (error instanceof Refused)
            return { problem: error.sentence, findings };
        throw error;
    }
    finally {
        adding.delete(tenant);
    }
}
/** The request, or why it is refused. */
function requestOf(hosts, typed) {
    const { url, account, mode, period, timeZone, apiUrl, apiToken } = typed;
    const bad = databaseProblem(url) ?? hostProblem(hosts, new URL(url));
    if (bad !== undefined)
        return bad;
    const address = encryptedAddress(new URL(url).href, false);
    if (address === undefined)
        return 'The data and the password would travel without encryption. Add ?sslmode=verify-full to the address.';
    if (!isWhole(account))
        return 'The account is a whole number from 1 to 1000000.';
    if (period !== '' && !isWhole(period))
        return 'The period is a whole number of seconds from 1 to 1000000.';
    if ((apiUrl === '') !== (apiToken === ''))
        return 'The address of the API and its token need each other.';
    const zone = timeZoneProblem(timeZone);
    if (zone !== undefined)
        return zone;
    const api = apiUrl === '' ? undefined : (apiProblem(apiUrl) ?? tokenProblem(apiToken) ?? hostProblem(hosts, new URL(apiUrl)));
    if (api !== undefined)
        return api;
    return {
        url: address,
        account: Number(account),
        mode,
        period: period === '' ? PERIOD : Number(period),
        timeZone,
        ...(apiUrl !== '' && { apiUrl: apiOf(apiUrl), apiToken }),
    };
}
const isWhole = (text) => /^[1-9]\d{0,6}$/.test(text) && Number(text) <= 1_000_000;
/** The ports that a host without a port in GATEWAY_SOURCE_HOSTS allows. Other services of the host stay out of reach. */
const USUAL = {
    'postgres:': '5432',
    'postgresql:': '5432',
    'https:': '443',
    'http:': '80',
};
/** A parameter such as `host` could lead to another machine than the one that is checked. */
function hostProblem(hosts, { protocol, hostname, port, searchParams }) {
    if ([...searchParams.keys()].some((name) => name !== 'sslmode'))
        return 'The only parameter that the address may have is sslmode.';
    const usual = USUAL[protocol] ?? '';
    const [host, at] = [hostname.toLowerCase(), port === '' ? usual : port];
    if (hosts.includes(`${host}:${at}`) || (at === usual && hosts.includes(host)))
        return undefined;
    const asked = JSON.stringify(at === usual ? hostname : `${hostname}:${at}`);
    return `The operator of this gateway has not allowed the host ${asked}. Allowed: ${hosts.join(', ')}.`;
}
//# sourceMappingURL=from-form.js.map