import { websiteNames } from './administration.js';
/** A website of the organization, by its id. Undefined if the organization does not have it. */
export async function findSite(desk, id) {
    const [, , site] = id.split('_');
    if (site === undefined || !(await websiteNames(desk)).has(id))
        return undefined;
    return { id, tenant: desk.by.tenant, site };
}
//# sourceMappingURL=sites.js.map