/**
 * The rules for the document of a client, and for its address. A person reads the sentence on the error page. The log
 * names the rule. The first group concerns the address, the second one the answer, and the third one the document.
 */
export const DOCUMENT_RULES = {
    form: 'The address of the document must be an https URL in ASCII of at most 2,000 characters.',
    fragment: 'The address of the document must have no fragment.',
    user: 'The address of the document must hold no user and no password.',
    https: 'The address of the document must begin with https.',
    port: 'The address of the document must have port 443 or 8443.',
    public: 'The host of the document must be a public name that leads to public addresses only.',
    redirect: 'The address must answer with the document and not with a redirect.',
    status: 'The address must answer with status 200.',
    gone: 'The address must have a document, but its server says that there is none.',
    type: 'The document must have the media type application/json, or one that ends in +json.',
    encoding: 'The document must have no content coding such as gzip.',
    size: 'The document must have at most 5,120 bytes.',
    json: 'The document must be JSON in UTF-8.',
    object: 'The document must be a JSON object.',
    client_id: 'The member client_id must be the address of the document.',
    client_name: 'The member client_name must be a text of 1 to 1,000 characters without control characters.',
    redirect_uris: 'The member redirect_uris must list 1 to 100 addresses.',
    secret: 'The client must work without a secret: its authentication method must be none, or none must be supported.',
};
/** The rule that an address breaks, whatever its host is. The URL parser accepts an empty fragment and an empty user. */
export function brokenBy(url) {
    if (url.includes('#'))
        return 'fragment';
    return /^[^/?#]*\/\/[^/?#]*@/.test(url) ? 'user' : undefined;
}
//# sourceMappingURL=document-rules.js.map