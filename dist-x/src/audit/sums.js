/** Buckets of durations: the first up to 1 ms, each further one sqrt(2) times as long, the last without end. */
const BUCKETS = 33;
const bucketOf = (ms) => (ms <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(2 * Math.log2(ms))));
/** The sums of records by hour, app, surface, operation and outcome, for gateway.audit_hour. */
export class Sums {
    #sums = new Map();
    add({ organization_id, app_id, surface, time = '' }, { operation, outcome, units }, ms) {
        const hour = time.slice(0, 13);
        const key = `${organization_id} ${hour} ${app_id} ${surface} ${operation} ${outcome}`;
        let sum = this.#sums.get(key);
        if (!sum) {
            sum = {
                ...{
                    organization_id: organization_id ?? '',
                    hour: `${hour}:00:00Z`,
                    app_id: app_id ?? '',
                    surface: surface ?? '',
                },
                ...{ operation: operation ?? '', outcome: outcome ?? '', calls: 0, units: 0 },
                buckets: Array.from({ length: BUCKETS }, () => 0),
            };
            this.#sums.set(key, sum);
        }
        sum.calls++;
        sum.units += units ?? 0;
        const bucket = bucketOf(ms);
        sum.buckets[bucket] = (sum.buckets[bucket] ?? 0) + 1;
    }
    get list() {
        return [...this.#sums.values()];
    }
}
//# sourceMappingURL=sums.js.map