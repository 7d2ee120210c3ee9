export function watched(db, { name, connections, onStatement, closed }) {
    let running = 0;
    const under = (run) => {
        const refused = closed?.();
        if (refused)
            return Promise.reject(refused);
        const answer = run();
        const ended = onStatement?.(name);
        running++;
        const over = (failed) => {
            running--;
            ended?.(failed);
        };
        // Return the original promise, because one more promise for each statement would cost measurable time.
        answer.then(() => over(false), () => over(true));
        return answer;
    };
    return {
        db: {
            query: (statement) => under(() => db.query(statement)),
            read: (statement) => under(() => db.read(statement)),
            script: (text) => under(() => db.script(text)),
            listen: (channel, heard) => db.listen(channel, heard),
            close: () => db.close(),
        },
        pool: {
            name,
            connections,
            get running() {
                return running;
            },
        },
    };
}
//# sourceMappingURL=watched.js.map