import { mayCall } from './registry.js';
export function streaming(corridor) {
    const socket = corridor.registry.operations.find(({ status }) => status === 101);
    return {
        permitted: (authority) => socket !== undefined && mayCall(socket, authority),
        charge: (authority) => corridor.charge(authority, socket?.cost ?? 1, 0),
        refund: (authority, units) => corridor.refund(authority, units),
    };
}
//# sourceMappingURL=streaming.js.map