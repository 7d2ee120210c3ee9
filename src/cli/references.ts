import { findPeople } from '../store/administration/people.ts';
import {
  type BelongingKind,
  type Candidate,
  findApps,
  findBelonging,
  findInstallations,
  findOrganizations,
  findWebsites,
  requireHere,
} from '../store/administration/references.ts';
import type { Database } from '../store/driver/postgres.ts';
import { plain, Refused } from './output.ts';

/**
 * Finds a record by public id or external_id. If two records match, the command is refused and shows both, because a
 * guess could grant the wrong data.
 */
export const organization = (db: Database, ref: string): Promise<Candidate> =>
  one('organization', ref, findOrganizations(db, [ref]));

/** The filter for an option `--organization`. Without the option, the filter takes every organization. */
export const tenantOf = async (db: Database, ref: string | undefined): Promise<{ tenant?: string }> =>
  ref === undefined ? {} : { tenant: (await organization(db, ref)).tenant };

export const app = (db: Database, ref: string): Promise<Candidate> => one('app', ref, findApps(db, [ref]));

export const installation = (db: Database, ref: string): Promise<Candidate> =>
  one('installation', ref, findInstallations(db, [ref]));

export const person = (db: Database, ref: string, tenant?: string): Promise<Candidate> =>
  one('person', ref, findPeople(db, [ref], tenant));

export async function website(db: Database, ref: string, tenant?: string): Promise<Candidate> {
  const found = only('website', ref, ofTenant(await findWebsites(db, [ref]), tenant, [ref]));
  await requireHere(db, found);
  return found;
}

/** Finds websites of one organization, in the order of `refs` and without duplicates. */
export async function websites(db: Database, refs: readonly string[], tenant: string): Promise<Candidate[]> {
  return each('website', refs, ofTenant(await findWebsites(db, refs), tenant, refs));
}

export async function belonging(
  db: Database,
  kind: BelongingKind,
  refs: readonly string[],
  on: { tenant: string; sites: readonly string[] },
): Promise<Candidate[]> {
  const found = await findBelonging(db, kind, on.tenant, refs);
  const here = found.filter((candidate) => on.sites.includes(candidate.site));
  for (const ref of refs) {
    const elsewhere = found.find((candidate) => candidate.ref === ref);
    if (elsewhere && !here.some((candidate) => candidate.ref === ref)) {
      throw new Refused(
        `${title(kind)} ${quote(ref)} belongs to ${elsewhere.of}, which is not one of the given websites.`,
      );
    }
  }
  return each(kind, refs, here);
}

function ofTenant(
  found: readonly Candidate[],
  tenant: string | undefined,
  refs: readonly string[],
): readonly Candidate[] {
  if (tenant === undefined) return found;
  const own = found.filter((candidate) => candidate.tenant === tenant);
  const foreign = refs.find((ref) => !own.some((o) => o.ref === ref) && found.some((f) => f.ref === ref));
  if (foreign !== undefined) throw new Refused(`Website ${quote(foreign)} belongs to another organization.`);
  return own;
}

const one = async (noun: string, ref: string, found: Promise<readonly Candidate[]>): Promise<Candidate> =>
  only(noun, ref, await found);

function each(noun: string, refs: readonly string[], found: readonly Candidate[]): Candidate[] {
  const ids = new Map(refs.map((ref) => only(noun, ref, found)).map((candidate) => [candidate.id, candidate]));
  return [...ids.values()];
}

function only(noun: string, ref: string, found: readonly Candidate[]): Candidate {
  const [first, ...others] = found.filter((candidate) => candidate.ref === ref);
  if (!first) throw new Refused(`There is no ${noun} ${quote(ref)}.`);
  if (others.length === 0) return first;
  const candidates = [first, ...others].map(({ id, name, of }) => `${id} (${plain(name)}, ${plain(of)})`);
  throw new Refused(`${quote(ref)} matches more than one ${noun}: ${candidates.join(', ')}. Use the id.`);
}

const quote = (ref: string): string => JSON.stringify(plain(ref));
const title = (noun: string): string => `${noun.slice(0, 1).toUpperCase()}${noun.slice(1)}`;
