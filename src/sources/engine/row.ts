import { createHash } from 'node:crypto';
import { canonicalLanguage } from '../../views/catalogue.ts';
import { htmlToText } from './html.ts';
import type { ImportRecord, RecordType, SourceFile } from './records.ts';
import { fileName, phoneToE164 } from './text.ts';

type ColumnValue = string | number | boolean | null | undefined | readonly (string | number)[];

/**
 * A checked record as it is staged. `data` holds the columns of the platform table. `owner` is the external_id of the
 * record to which this record belongs. `refs` and `links` hold further external_ids, in the order that `tables.ts`
 * defines.
 */
export interface StagedRow {
  readonly type: RecordType;
  readonly external_id: string;
  readonly owner?: string;
  readonly at?: string;
  readonly refs?: readonly (string | null)[];
  readonly links?: readonly string[];
  readonly data: Readonly<Record<string, ColumnValue>>;
}

export interface StoredContent {
  readonly size: number;
  readonly sha256: string;
}

export function rowOf(record: ImportRecord | SourceFile, content?: StoredContent): StagedRow {
  const { type, external_id } = record;
  switch (record.type) {
    case 'organization':
      return { type, external_id, data: { name: record.name } };
    case 'website': {
      const { name, time_zone, crm_integrated } = record;
      return { type, external_id, owner: record.organization, data: { name, time_zone, crm_integrated } };
    }
    case 'operator': {
      const { name, email, role, enabled, websites: links, teams: refs } = record;
      return { type, external_id, owner: record.organization, refs, links, data: { name, email, role, enabled } };
    }
    case 'contact': {
      const { type: _, external_id: __, website: owner, ...data } = record;
      const mobile_e164 = phoneToE164(record.mobile, record.country);
      const phone_e164 = phoneToE164(record.phone, record.country);
      return { type, external_id, owner, at: record.created_at, data: { ...data, mobile_e164, phone_e164 } };
    }
    case 'visitor': {
      const { website: owner, contacts: links, nickname, blocked, created_at, last_seen_at } = record;
      const data = { nickname, blocked, created_at, last_seen_at };
      return { type, external_id, owner, at: created_at, links, data };
    }
    case 'ai_feature': {
      const { website: owner, name, ai_type, enabled } = record;
      const versions = record.versions.map((one) => one.version).sort((a, b) => a - b);
      const active = record.versions.filter((one) => one.active).map((one) => one.version);
      const active_version = active.length === 0 ? null : Math.max(...active);
      return { type, external_id, owner, data: { name, type: ai_type, enabled, versions, active_version } };
    }
    case 'disposition': {
      const { value, label, group: group_name, enabled, position } = record;
      return { type, external_id, owner: record.website, data: { value, label, group_name, enabled, position } };
    }
    case 'saved_response': {
      const { type: _, external_id: __, website: owner, ...data } = record;
      return { type, external_id, owner, data: { ...data, language: canonicalLanguage(record.language) } };
    }
    case 'offer': {
      const { type: _, external_id: __, website: owner, offer_type, ...data } = record;
      return { type, external_id, owner, data: { ...data, type: offer_type } };
    }
    case 'subsite':
    case 'channel':
    case 'team':
    case 'saved_link': {
      const { type: _, external_id: __, website: owner, ...data } = record;
      return { type, external_id, owner, data };
    }
    case 'conversation': {
      const { type: _, external_id: __, website: owner, contacts: links, rating, ...members } = record;
      const { visitor, channel, team, subsite, operator, ...data } = members;
      const { created_at: at, updated_at = at } = data;
      return {
        ...{ type, external_id, owner, at, links },
        refs: [visitor ?? null, channel ?? null, team ?? null, subsite ?? null, operator ?? null],
        data: { ...data, updated_at, rating_label: rating?.label, rating_score: rating?.score },
      };
    }
    case 'message': {
      const { type: _, external_id: __, conversation: owner, author, ai_feature, in_reply_to, ...data } = record;
      const { author_type, kind, text, redacted, created_at: at } = data;
      const [visitor, operator] = author_type === 'visitor' ? [author, undefined] : [undefined, author];
      const plain = kind === 'html' && text !== undefined ? htmlToText(text) : text;
      const refs = [visitor ?? null, operator ?? null, ai_feature ?? null, in_reply_to ?? null];
      return { type, external_id, owner, at, refs, data: { ...data, text: redacted ? null : plain } };
    }
    case 'file': {
      if ('size' in record) return sourceFileRow(record, content);
      const { type: _, external_id: __, message: owner, content_base64: ___, path: ____, ...data } = record;
      const stored = content && { size: content.size, sha256: content.sha256, version: content.sha256.slice(0, 32) };
      const named = { ...data, name: fileName(record.name), ...stored };
      return { type, external_id, owner, at: record.created_at, data: named };
    }
    case 'note': {
      const { title, text, created_at } = record;
      const refs = [record.operator ?? null];
      return { type, external_id, owner: record.visitor, at: created_at, refs, data: { title, text, created_at } };
    }
    case 'ai_result': {
      const { type: _, external_id: __, conversation: owner, ...data } = record;
      return { type, external_id, owner, data };
    }
    case 'delete':
      return { type, external_id, owner: record.of, data: {} };
  }
}

/** Without content, a file has no digest. A changed size is then another version. */
function sourceFileRow(record: SourceFile, content: StoredContent | undefined): StagedRow {
  const { type, external_id, message: owner, path: _, ...data } = record;
  const sha256 = content?.sha256 ?? null;
  const version = sha256 ?? createHash('sha256').update(`${external_id} ${data.size}`).digest('hex');
  const stored = { size: content?.size ?? data.size, sha256, version: version.slice(0, 32) };
  return { type, external_id, owner, at: record.created_at, data: { ...data, name: fileName(record.name), ...stored } };
}
