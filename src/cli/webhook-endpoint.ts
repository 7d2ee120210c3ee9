import { type EndpointRecord, readEndpoints } from '../store/administration/endpoints.ts';
import type { Database } from '../store/driver/postgres.ts';
import { Refused } from './output.ts';
import { plain } from './text.ts';

export async function endpoint(db: Database, id: string): Promise<EndpointRecord> {
  const [record] = await readEndpoints(db, { id });
  if (!record) throw unknown(id);
  return record;
}

export const unknown = (id: string): Refused => new Refused(`There is no webhook ${JSON.stringify(plain(id))}.`);
