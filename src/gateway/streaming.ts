import type { Authority } from '../core/authority.ts';
import type { Corridor } from './call.ts';
import { mayCall } from './registry.ts';

export function streaming(corridor: Corridor): {
  permitted(authority: Authority): boolean;
  charge(authority: Authority): Promise<number>;
  refund(authority: Authority, units: number): void;
} {
  const socket = corridor.registry.operations.find(({ status }) => status === 101);
  return {
    permitted: (authority) => socket !== undefined && mayCall(socket, authority),
    charge: (authority) => corridor.charge(authority, socket?.cost ?? 1, 0),
    refund: (authority, units) => corridor.refund(authority, units),
  };
}
