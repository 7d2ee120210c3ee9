import { createHash } from 'node:crypto';
/**
 * A number for what the consent page shows now. For an installed client, it is the revision of the credential. For a
 * client by URL, it is made of the client's document and the websites. The form of the page holds the number, so that
 * nobody approves what has changed since the page was shown.
 */
export function shownVersion(context) {
    const client = context.the('client');
    if (client.kind === 'installed')
        return client.revision;
    const shown = JSON.stringify([client, context.the('offer')]);
    return 1 + createHash('sha256').update(shown).digest().readUIntBE(0, 3);
}
//# sourceMappingURL=version.js.map