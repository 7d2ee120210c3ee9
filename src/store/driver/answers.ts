/** The number `n` in the only row of an answer. 0: there is no row. */
export const numberOf = async (rows: Promise<{ n: number }[]>): Promise<number> => (await rows)[0]?.n ?? 0;

/** The truth of `holds` in the only row of an answer. False: there is no row. */
export const holdsIn = async (rows: Promise<{ holds: boolean }[]>): Promise<boolean> => (await rows)[0]?.holds === true;
