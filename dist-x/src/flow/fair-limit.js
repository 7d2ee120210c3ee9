import { Failure } from '../core/failures.js';
import { FairQueue } from './fair-queue.js';
/** A job was refused because the queue is full, or because a job of a group with fewer waiting jobs took its place. */
export class QueueFull extends Error {
    name = 'QueueFull';
}
/**
 * Runs a limited number of jobs at the same time, while other jobs wait. The groups of the jobs take turns, and the
 * members of a group take turns too. So no group and no member can block the others. If the queue is full, a new job can
 * take the place of the last job of the busiest group.
 */
export class FairLimit {
    #options;
    /** Groups with waiting jobs. A group appears once for each of its waiting jobs. */
    #groups = new FairQueue();
    #waiting = new Map();
    /** The groups of the running jobs. A group with two running jobs appears twice. */
    #running = [];
    constructor(options) {
        this.#options = options;
    }
    /** Runs work when it is the turn of the group. Rejects with QueueFull if too many jobs wait. */
    run(group, work, { member = '', isWanted = () => true } = {}) {
        const { atOnce, each = atOnce, waiting = Number.POSITIVE_INFINITY } = this.#options;
        const mustWait = this.#running.length >= atOnce || this.#runningOf(group) >= each;
        const isFull = mustWait && this.#groups.size >= waiting;
        if (isFull && !this.#madeRoom(group))
            return Promise.reject(new QueueFull());
        return new Promise((resolve, reject) => {
            const jobs = this.#waiting.get(group) ?? new FairQueue();
            const run = async () => {
                try {
                    resolve(await work());
                }
                catch (error) {
                    reject(error);
                }
            };
            jobs.add(member, { isWanted, run, refuse: reject });
            this.#waiting.set(group, jobs);
            this.#groups.add(group, group);
            this.#next();
        });
    }
    /**
     * Makes room in a full queue for a group. Refuses the last job of the group with the most waiting jobs. Returns false
     * if no group has at least two waiting jobs more.
     */
    #madeRoom(group) {
        const busiest = this.#groups.busiest;
        const jobs = this.#waiting.get(busiest);
        if (!jobs || this.#groups.of(busiest) <= this.#groups.of(group) + 1)
            return false;
        this.#groups.removeLast(busiest);
        jobs.removeLast(jobs.busiest)?.refuse(new QueueFull());
        return true;
    }
    #runningOf(group) {
        return this.#running.filter((one) => one === group).length;
    }
    #next() {
        const { atOnce, each = atOnce } = this.#options;
        while (this.#running.length < atOnce) {
            const group = this.#groups.next((one) => this.#runningOf(one) < each);
            if (group === undefined)
                return;
            const jobs = this.#waiting.get(group);
            const job = jobs?.next();
            if (jobs?.empty)
                this.#waiting.delete(group);
            if (job?.isWanted() !== true) {
                job?.refuse(new Failure('service_unavailable'));
                continue;
            }
            this.#running.push(group);
            void job.run().finally(() => {
                this.#running.splice(this.#running.indexOf(group), 1);
                this.#next();
            });
        }
    }
}
//# sourceMappingURL=fair-limit.js.map