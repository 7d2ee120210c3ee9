/** The store cannot be opened. The message tells the operator what is wrong and how to fix it. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
