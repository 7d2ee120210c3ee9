import { z } from 'zod';
import { defineTool } from '../../src/core/tool.ts';
import { SubscriptionView } from '../../src/views/subscription.ts';

export default defineTool({
  name: 'subscriptions_list',
  title: 'List event subscriptions',
  summary: 'Subscriptions of this installation whose websites are all granted, oldest first.',
  rest: 'GET /api/v1/subscriptions',
  effect: 'read',
  tag: 'Events',
  scopes: ['website_read', 'event_read'],
  restrictions: 'refused',
  consent: 'refused',
  errors: ['subscription_corrupt'],
  input: {},
  output: z.strictObject({ subscriptions: z.array(SubscriptionView).max(20).describe('Subscriptions, oldest first.') }),
  async handle({ read }) {
    return { subscriptions: await read.subscriptions() };
  },
});
