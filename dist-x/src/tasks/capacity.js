/** The most tasks that run in a process, over all installations. One app can have half of them. */
export const RUNNING_HERE = 32;
/** How many more tasks of an app can start in this process. `running` includes dropped jobs that still run. */
export function slotsFor(app, running, held) {
    let [all, own] = [0, 0];
    const seat = ({ authority }) => {
        all++;
        if (authority.appId === app)
            own++;
    };
    running.forEach(seat);
    for (const one of held)
        if (one.state === 'accepting' && one.starts)
            seat(one);
    return Math.max(0, Math.min(RUNNING_HERE - all, RUNNING_HERE / 2 - own));
}
/**
 * True when one more task of an app fits into memory. A process keeps at most `most` tasks, and at most half of them
 * for one app.
 */
export function roomFor(app, held, most) {
    let own = 0;
    for (const { authority } of held.values())
        if (authority.appId === app)
            own++;
    return held.size < most && own < Math.ceil(most / 2);
}
export function waitingApps(held) {
    const apps = new Map();
    for (const { state, authority } of held) {
        if (state !== 'waiting')
            continue;
        apps.set(authority.appId, (apps.get(authority.appId) ?? new Set()).add(authority.installationId));
    }
    return apps;
}
//# sourceMappingURL=capacity.js.map