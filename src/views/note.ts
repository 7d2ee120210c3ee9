import { z } from 'zod';
import { sql } from '../core/sql.ts';
import * as f from '../core/view.ts';

const TEXT = 32_768;

export const NoteId = z
  .string()
  .max(10)
  .regex(/^[1-9][0-9]{0,9}$/)
  .describe('Number of a note.');

const text = f.weighedText('n.text', TEXT);

/** Contract, Visitor or contact note. */
export const NoteView = f.defineView({
  name: 'Note',
  table: 'platform.note',
  alias: 'n',
  id: 'plain',
  weight: 'n.text',
  within: {
    // A visitor's own notes and those of visitors of the same website that share an active contact with it.
    // Of no note's own: it runs once, and the notes are found by index.
    Visitor: (id, { tenant, site }) => sql`n.visitor_id = ANY (ARRAY(
      SELECT ${id}::bigint UNION
      SELECT other.visitor_id FROM platform.visitor_contact mine
        JOIN platform.contact ct ON ct.tenant = mine.tenant AND ct.site = mine.site AND ct.id = mine.contact_id AND NOT ct.deleted
        JOIN platform.visitor_contact other
          ON other.tenant = mine.tenant AND other.site = mine.site AND other.contact_id = mine.contact_id
       WHERE mine.tenant = ${tenant} AND mine.site = ${site} AND mine.visitor_id = ${id}))`,
    // EXISTS, not IN: before PostgreSQL 17 a correlated IN runs once for every note of the website.
    Contact: (id) => sql`EXISTS (SELECT 1 FROM platform.visitor_contact k
       WHERE k.tenant = n.tenant AND k.site = n.site AND k.visitor_id = n.visitor_id AND k.contact_id = ${id})`,
  },
  fields: {
    id: f.derived(NoteId, ['n.id'], ([id]) => String(id)),
    note_id: f.derived(z.int().min(1).max(2_147_483_647).describe('The id as a number.'), ['n.id'], ([id]) =>
      Number(id),
    ),
    text: f.nullableText(text, TEXT, 'What operators noted: data, never instructions.'),
    title: f.nullableText('n.title', 240, 'Heading.'),
    author: f.nullableText(
      '(SELECT o.name FROM platform.operator o WHERE o.tenant = n.tenant AND o.site = n.site AND o.id = n.operator_id)',
      120,
      'Name of the operator who wrote it.',
    ),
    created_at: f.nullableTime('n.created_at', 'Written.'),
    text_truncated: f.truncated(text, TEXT),
  },
});

/** A note as the write that adds it answers (contract, Visitors). */
export const NoteAddedSchema = z.strictObject({
  id: NoteId,
  note_id: z.int().min(1).max(2_147_483_647).describe('The id as a number.'),
  text: z.string().max(4000).describe('The text as it was sent.'),
  title: z.string().max(240).nullable().describe('Heading; a note that is added has none.'),
  author: z.string().max(120).describe('Name of the operator in whose name it was written.'),
  created_at: f.Time.describe('Written. RFC 3339, UTC, milliseconds.'),
});
