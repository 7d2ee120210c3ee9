import { readParameters } from '../../../auth/oauth/parameters.js';
import { Failure } from '../../../core/failures.js';
import { readBody } from '../body.js';
/** Largest form in bytes. This is enough for about 700 website ids in a consent or in a token request. */
const FORM_LIMIT = 16_384;
const FORM_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
/** Reads the form in the body. Returns `undefined` for a malformed form. */
export async function readForm(request, response) {
    const { 'content-type': type = '', 'content-encoding': encoding } = request.headers;
    if (!FORM_TYPE.test(type) || encoding !== undefined) {
        const detail = 'Send the body as application/x-www-form-urlencoded in UTF-8, without a content coding.';
        throw new Failure('unsupported_media_type', { detail });
    }
    return readParameters((await readBody(request, response, FORM_LIMIT)).toString('latin1'));
}
//# sourceMappingURL=form.js.map