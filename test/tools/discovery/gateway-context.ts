import { plain, reads } from '../../support/authority/row.ts';

export default reads({
  path: '/context',
  members: {
    '': plain(
      ...['principal', 'environment', 'organization_id', 'app_id', 'installation_id', 'scopes', 'website_ids'],
      ...['data_access', 'restrictions', 'authority_expires_at', 'guides'],
    ),
    data_access: plain('message_content', 'pii', 'internal_notes'),
  },
});
