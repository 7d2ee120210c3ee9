import { secretsOf, sent, ThreadPulse } from '../thread/protocol.js';
/** The texts that no error may show. */
export const secretsIn = ({ address, token }) => [...secretsOf(address), token].filter((secret) => secret !== '');
/** Answers the calls of the main thread from this helpdesk. */
export function hostWriter(desk, port, { settings, memory }) {
    const pulse = new ThreadPulse(memory);
    const secrets = secretsIn(settings);
    const underWay = new Map();
    pulse.start();
    const answer = async ({ method, args }, signal) => {
        if (method === 'ready')
            return undefined;
        // The main thread sends arguments of the types in the interface Helpdesk. Each method takes the signal last.
        return desk[method](...args, signal);
    };
    const post = (reply) => port.postMessage(reply);
    port.on('message', (call) => {
        if ('abort' in call)
            return underWay.get(call.id)?.abort();
        const { id } = call;
        const aborter = new AbortController();
        underWay.set(id, aborter);
        answer(call, aborter.signal)
            .then((value) => post({ id, answer: value }))
            .catch((error) => post({ id, error: sent(error, secrets) }))
            .finally(() => underWay.delete(id));
    });
}
//# sourceMappingURL=host.js.map