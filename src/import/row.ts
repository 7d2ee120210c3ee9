import type { ImportRecord, RecordType } from './records.ts';
import { canonicalLanguage, fileName, htmlToText, phoneToE164 } from './text.ts';

type Cell = string | number | boolean | null | undefined | readonly (string | number)[];

/**
 * A checked record as it is staged: `data` holds columns of its platform table under their own names, `owner` names
 * the record that says where it belongs, `refs` and `links` hold further external_ids in the order of `tables.ts`.
 */
export interface Row {
  readonly type: RecordType;
  readonly external_id: string;
  readonly owner?: string;
  readonly at?: string;
  readonly refs?: readonly (string | null)[];
  readonly links?: readonly string[];
  readonly data: Readonly<Record<string, Cell>>;
}

/** What a file's content turned out to be. */
export interface StoredContent {
  readonly size: number;
  readonly sha256: string;
}

export function rowOf(record: ImportRecord, content?: StoredContent): Row {
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
      const { type: _, external_id: __, website: owner, contacts: links, ...data } = record;
      return { type, external_id, owner, at: record.created_at, links, data };
    }
    case 'ai_feature': {
      const { name, ai_type, enabled } = record;
      const versions = record.versions.map((one) => one.version).sort((a, b) => a - b);
      const active = record.versions.filter((one) => one.active).map((one) => one.version);
      const active_version = active.length === 0 ? null : Math.max(...active);
      return {
        type,
        external_id,
        owner: record.website,
        data: { name, type: ai_type, enabled, versions, active_version },
      };
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
      const { type: _, external_id: __, website: owner, visitor, channel, team, subsite, operator, ...rest } = record;
      const { contacts: links, rating, ...data } = rest;
      return {
        type,
        external_id,
        owner,
        at: record.created_at,
        refs: [visitor ?? null, channel ?? null, team ?? null, subsite ?? null, operator ?? null],
        links,
        data: { ...data, rating_label: rating?.label, rating_score: rating?.score },
      };
    }
    case 'message': {
      const { type: _, external_id: __, conversation: owner, author, in_reply_to, ai_feature, text, ...data } = record;
      const [visitor, operator] = record.author_type === 'visitor' ? [author, undefined] : [undefined, author];
      const plain = record.kind === 'html' && text !== undefined ? htmlToText(text) : text;
      return {
        type,
        external_id,
        owner,
        at: record.created_at,
        refs: [visitor ?? null, operator ?? null, ai_feature ?? null, in_reply_to ?? null],
        // What was redacted is not kept.
        data: { ...data, text: record.redacted ? null : plain },
      };
    }
    case 'file': {
      const { type: _, external_id: __, message: owner, content_base64: ___, path: ____, ...data } = record;
      const stored = content && { size: content.size, sha256: content.sha256, version: content.sha256.slice(0, 32) };
      return {
        type,
        external_id,
        owner,
        at: record.created_at,
        data: { ...data, name: fileName(record.name), ...stored },
      };
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
