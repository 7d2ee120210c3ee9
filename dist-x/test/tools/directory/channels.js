import { directory, page, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/channels?website_id={web}',
    scopes: ['live_read'],
    members: { data: page('channels'), 'data.channels.*': plain('id', 'name') },
    list: ['data.channels', 'id', directory('channel_ids')],
    cursor: 'chn',
    shows: [['channel', [1, 2], { name: [] }]],
    configured: ['/data/channels/*/name'],
});
//# sourceMappingURL=channels.js.map