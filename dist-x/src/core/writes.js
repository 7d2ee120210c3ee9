/** Takes the type of the command first: `defineWrite<{ visitor: string }>()({ … })`. */
export const defineWrite = () => (write) => write;
//# sourceMappingURL=writes.js.map