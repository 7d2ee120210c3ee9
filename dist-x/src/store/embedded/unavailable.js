/** The store cannot be opened. The message tells the operator what is wrong and how to fix it. */
export class StoreUnavailable extends Error {
    name = 'StoreUnavailable';
}
export function errorCode(error) {
    return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
//# sourceMappingURL=unavailable.js.map