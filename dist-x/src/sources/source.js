/** Returns the findings of a stored source as an operator sees them. */
export const findingsOf = ({ findings, compare_error: text, }) => text === null ? findings : [...findings, { level: 'degraded', about: 'comparison', text }];
/** The source cannot say what has changed since a position. The reader must start again and compare all records. */
export class PositionLost extends Error {
    name = 'PositionLost';
}
/** The address now leads to another helpdesk than before. No record of that helpdesk may be written. */
export class OtherInstallation extends Error {
    name = 'OtherInstallation';
}
//# sourceMappingURL=source.js.map