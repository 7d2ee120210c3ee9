let begin = () => true;
/** Sets what `mayRead` calls. A reader thread uses this to learn which row is being read, and to skip rows. */
export function watchRows(hear) {
    begin = hear;
}
/** Reports that the thread starts to read a row. False if the row stopped an earlier reader and must be skipped. */
export const mayRead = (row) => begin(row);
//# sourceMappingURL=underway.js.map