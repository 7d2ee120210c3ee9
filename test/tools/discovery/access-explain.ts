import { plain, reads } from '../../support/authority/row.ts';

export default reads({
  path: '/access',
  members: {
    data: plain('operations'),
    'data.operations.*': plain('operation', 'allowed', 'lacks', 'sentence'),
  },
});
