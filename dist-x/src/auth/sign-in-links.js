import { networkOf } from '../flow/network.js';
import { insertLink, readLink, takeLink } from '../store/sign-in/links.js';
import { openSession } from './sign-in.js';
import { digestOf, newSecret, wellFormed } from './tokens.js';
const LINK_SECONDS = 900;
/** The path of the page that a link opens. The secret is the value of the parameter `link`. */
export const LINK_PATH = '/console/enter';
/** Makes a link. Returns `undefined` when the console does not let the person in. */
export async function makeSignInLink(db, { person, baseUrl }) {
    const secret = newSecret('link');
    const until = await insertLink(db, { digest: digestOf(secret), person, seconds: LINK_SECONDS });
    return until && { url: `${baseUrl}${LINK_PATH}?link=${secret}`, until };
}
/** Whom the link would sign in. Does not use the link up. */
export const holderOfLink = async (db, { link, source }) => wellFormed(link) ? readLink(db, { digest: digestOf(link), network: networkOf(source) }) : undefined;
/** Uses a link up, and opens a session of its person. `ended`: whose link it was, if the store still knows that. */
export async function signInByLink(db, { link, source }) {
    if (!wellFormed(link))
        return { ended: [] };
    const taken = await takeLink(db, { digest: digestOf(link), network: networkOf(source) });
    const session = taken?.works ? await openSession(db, taken.id) : undefined;
    return session ?? { ended: taken ? [taken] : [] };
}
//# sourceMappingURL=sign-in-links.js.map