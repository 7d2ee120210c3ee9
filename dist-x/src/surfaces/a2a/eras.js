import { VersionNotSupportedError } from '@a2a-js/sdk/errors';
import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { checkedParams } from './params.js';
import { V03 } from './v03/v03.js';
const V10 = {
    // The SDK refuses a name that it does not know.
    nameOf: (method) => method,
    checkedParams,
    handle: (request, handler) => new JsonRpcTransportHandler(handler).handle(request, new ServerCallContext()),
    errorsInStream: () => false,
};
/**
 * The era of a version. A patch number is ignored (A2A, section 3.6). A client of version 0.3 sends no version
 * (section 3.6.2). Throws for any other version.
 */
export function eraOf(version) {
    if (version !== undefined && /^1\.0(\.[0-9]{1,9})?$/.test(version))
        return V10;
    if (version === undefined || version === '' || /^0\.3(\.[0-9]{1,9})?$/.test(version))
        return V03;
    throw new VersionNotSupportedError('The versions 1.0 and 0.3 are served here.');
}
//# sourceMappingURL=eras.js.map