import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { apiOf, apiProblem, databaseProblem, encryptedAddress, timeZoneProblem, tokenProblem, } from '../sources/administration.js';
export const zone = (value) => checked(value, timeZoneProblem(value));
export const databaseUrl = (value) => checked(value, value === '-' ? undefined : databaseProblem(value));
export const webUrl = (value) => apiOf(checked(value, apiProblem(value)));
export const token = (value) => checked(value, tokenProblem(value));
function checked(value, problem) {
    if (problem !== undefined)
        throw new InvalidArgumentError(problem);
    return value;
}
/** Returns the address to store. `insecure` lets the gateway also accept a connection without encryption. */
export const safeUrl = (command, { url, insecure }) => encryptedAddress(url, insecure === true) ??
    command.error("error: option '--url': the data and the password would travel without encryption. Add ?sslmode=verify-full to the address (or sslmode=require, which does not check the certificate), or give --insecure.");
/** Replaces each `-` by the next line of standard input: the address of the database, then the token. */
export function withInput(command, given) {
    if (given.url !== '-' && given.apiToken !== '-')
        return given;
    const lines = readFileSync(0, 'utf8').split('\n');
    const next = (flag, parse) => {
        try {
            // Refuse a second `-` as an address.
            return parse(lines.shift()?.trim().replace(/^-$/, '') ?? '');
        }
        catch (error) {
            if (!(error instanceof InvalidArgumentError))
                throw error;
            return command.error(`error: option '${flag}': standard input is invalid. ${error.message}`);
        }
    };
    return {
        ...given,
        url: given.url === '-' ? next('--url', databaseUrl) : given.url,
        ...(given.apiToken === '-' && { apiToken: next('--api-token', token) }),
    };
}
//# sourceMappingURL=source-options.js.map