import { LIST_MAX, type ListPage, type Slice } from '../../store/administration/administrator.ts';
import {
  askComparison,
  countRows,
  pageOfRejects,
  pageOfSources,
  pauseSource,
  type RejectRecord,
  type SourceRecord,
} from '../../store/administration/sources.ts';
import { type AdministratorDesk, changing, finding, listing } from './desk.ts';

export {
  findingsOf,
  isAlone,
  lagOf,
  type RejectRecord,
  type SourceRecord,
} from '../../store/administration/sources.ts';

/** What a form says about a new source. Every value is as the person typed it. */
export interface SourceForm {
  readonly url: string;
  readonly account: string;
  readonly mode: 'poll' | 'live';
  readonly period: string;
  readonly timeZone: string;
  readonly apiUrl: string;
  readonly apiToken: string;
}

type SourceFinding = SourceRecord['findings'][number];

/** A source that was added, or why it was not. */
export type SourceAdded =
  | { readonly id: string }
  | { readonly problem: string; readonly findings: readonly SourceFinding[] };

interface SourceRemoved {
  /** What the owner still has to do at the helpdesk. */
  readonly left?: string;
  /** False: upkeep deletes the rest of the records. */
  readonly finished: boolean;
}

/** What changes sources. Only processes that serve the console load it (src/process/console-sources.ts). */
export interface SourceTools {
  /** The hosts of GATEWAY_SOURCE_HOSTS. */
  readonly hosts: readonly string[];
  add(desk: AdministratorDesk, form: SourceForm): Promise<SourceAdded>;
  remove(desk: AdministratorDesk, record: SourceRecord, withData: boolean): Promise<SourceRemoved>;
  /** SQL that gives the gateway its rights in the database of the helpdesk. */
  grants(mode: 'poll' | 'live'): Promise<string>;
}

/** The sources of one organization. */
export const listSources = listing(pageOfSources);

export const findSource = finding(listSources);

export const listRejects = (desk: AdministratorDesk, id: string, slice: Slice): Promise<ListPage<RejectRecord>> =>
  pageOfRejects(desk.db, desk.by, id, slice);

/** The number of stored records by kind, each counted to LIST_MAX + 1. */
export const countRecords = async (
  { db }: AdministratorDesk,
  { tenant, site }: SourceRecord,
): Promise<Record<string, number>> => (site === null ? {} : countRows(db, tenant, site, LIST_MAX + 1));

/** True if the source was running, or paused, before. */
export const setPaused = ({ db, by }: AdministratorDesk, id: string, paused: boolean): Promise<boolean> =>
  pauseSource(db, id, paused, by);

/** Asks the gateway that runs the source to compare all its records with the store. */
export const compareSource = changing(askComparison);
