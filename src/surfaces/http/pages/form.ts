import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Parameters, readParameters } from '../../../auth/oauth/parameters.ts';
import { Failure } from '../../../core/failures.ts';
import { readBody, typeInUtf8 } from '../body.ts';

/** Largest form in bytes. This is enough for about 700 website ids in a consent or in a token request. */
const FORM_LIMIT = 16_384;
const FORM_TYPE = typeInUtf8('application/x-www-form-urlencoded');

/** Reads the form in the body. Returns `undefined` for a malformed form. */
export async function readForm(request: IncomingMessage, response: ServerResponse): Promise<Parameters | undefined> {
  const { 'content-type': type = '', 'content-encoding': encoding } = request.headers;
  if (!FORM_TYPE.test(type) || encoding !== undefined) {
    const detail = 'Send the body as application/x-www-form-urlencoded in UTF-8, without a content coding.';
    throw new Failure('unsupported_media_type', { detail });
  }
  return readParameters((await readBody(request, response, FORM_LIMIT)).toString('latin1'));
}
