import { once } from './document.js';
import { atEndpoint } from './request.js';
/** A surface with one path, whose modules are loaded at the first request for this path. */
export function loadedAt(path, load) {
    const loaded = once(load);
    return (request, response, context) => {
        if (atEndpoint(request, path)?.below !== '')
            return false;
        return loaded().then(async (handler) => void (await handler(request, response, context)));
    };
}
//# sourceMappingURL=loaded.js.map