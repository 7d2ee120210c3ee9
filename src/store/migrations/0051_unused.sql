-- Functions for processes of schema versions before 50, which no store has to serve any more. A new store never has them.
DROP FUNCTION IF EXISTS gateway.claim_webhooks, platform.search;
