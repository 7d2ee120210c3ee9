/** A setting has a value that the gateway cannot use. The message tells the operator which value is expected. */
export class ConfigError extends Error {
    name = 'ConfigError';
}
//# sourceMappingURL=error.js.map