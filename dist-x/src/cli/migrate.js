/**
 * Opening the store migrates the store. The command then waits until the indexes of large tables are built. Several
 * processes can do this at the same time.
 */
export function migrateCommand(program, register) {
    const command = program.command('migrate').description('migrate the store to the current schema');
    register(command, async ({ out, store }) => {
        const { version, build } = await store();
        await build(new AbortController().signal);
        out.result({ version }, `The schema is at version ${version}.`);
    });
}
//# sourceMappingURL=migrate.js.map