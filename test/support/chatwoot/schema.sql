-- The part of Chatwoot's schema that matters to a connector. Names, types, defaults and constraints are those of
-- the schema version 2025_08_16_044639, with the column conversations.assignee_agent_bot_id of later versions.
-- The tables also have the columns with secrets, so that a test can prove that the connector's role cannot read these
-- columns. Rails writes UTC into every timestamp. A timestamp without precision keeps microseconds, too. Chatwoot has
-- no foreign keys between these tables, apart from the key of active_storage_attachments.

CREATE TABLE accounts (
  id serial PRIMARY KEY,
  name varchar NOT NULL,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL,
  locale integer DEFAULT 0,
  domain varchar(100),
  support_email varchar(100),
  feature_flags bigint NOT NULL DEFAULT 0,
  auto_resolve_duration integer,
  limits jsonb DEFAULT '{}',
  custom_attributes jsonb DEFAULT '{}',
  status integer DEFAULT 0,
  internal_attributes jsonb NOT NULL DEFAULT '{}',
  settings jsonb DEFAULT '{}'
);
CREATE INDEX index_accounts_on_status ON accounts (status);

CREATE TABLE account_users (
  id bigserial PRIMARY KEY,
  account_id bigint,
  user_id bigint,
  role integer DEFAULT 0,
  inviter_id bigint,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL,
  active_at timestamp,
  availability integer NOT NULL DEFAULT 0,
  auto_offline boolean NOT NULL DEFAULT true,
  custom_role_id bigint,
  agent_capacity_policy_id bigint
);
CREATE UNIQUE INDEX uniq_user_id_per_account_id ON account_users (account_id, user_id);
CREATE INDEX index_account_users_on_account_id ON account_users (account_id);
CREATE INDEX index_account_users_on_user_id ON account_users (user_id);

CREATE TABLE users (
  id serial PRIMARY KEY,
  provider varchar NOT NULL DEFAULT 'email',
  uid varchar NOT NULL DEFAULT '',
  encrypted_password varchar NOT NULL DEFAULT '',
  reset_password_token varchar,
  reset_password_sent_at timestamp,
  remember_created_at timestamp,
  sign_in_count integer NOT NULL DEFAULT 0,
  current_sign_in_at timestamp,
  last_sign_in_at timestamp,
  current_sign_in_ip varchar,
  last_sign_in_ip varchar,
  confirmation_token varchar,
  confirmed_at timestamp,
  confirmation_sent_at timestamp,
  unconfirmed_email varchar,
  name varchar NOT NULL,
  display_name varchar,
  email varchar,
  tokens json,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL,
  pubsub_token varchar,
  availability integer DEFAULT 0,
  ui_settings jsonb DEFAULT '{}',
  custom_attributes jsonb DEFAULT '{}',
  type varchar,
  message_signature text
);
CREATE INDEX index_users_on_email ON users (email);
CREATE UNIQUE INDEX index_users_on_pubsub_token ON users (pubsub_token);
CREATE UNIQUE INDEX index_users_on_reset_password_token ON users (reset_password_token);
CREATE UNIQUE INDEX index_users_on_uid_and_provider ON users (uid, provider);

CREATE TABLE access_tokens (
  id bigserial PRIMARY KEY,
  owner_type varchar,
  owner_id bigint,
  token varchar,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL
);
CREATE INDEX index_access_tokens_on_owner_type_and_owner_id ON access_tokens (owner_type, owner_id);
CREATE UNIQUE INDEX index_access_tokens_on_token ON access_tokens (token);

CREATE TABLE inboxes (
  id serial PRIMARY KEY,
  channel_id integer NOT NULL,
  account_id integer NOT NULL,
  name varchar NOT NULL,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL,
  channel_type varchar,
  enable_auto_assignment boolean DEFAULT true,
  greeting_enabled boolean DEFAULT false,
  greeting_message varchar,
  email_address varchar,
  working_hours_enabled boolean DEFAULT false,
  out_of_office_message varchar,
  timezone varchar DEFAULT 'UTC',
  enable_email_collect boolean DEFAULT true,
  csat_survey_enabled boolean DEFAULT false,
  allow_messages_after_resolved boolean DEFAULT true,
  auto_assignment_config jsonb DEFAULT '{}',
  lock_to_single_conversation boolean NOT NULL DEFAULT false,
  portal_id bigint,
  sender_name_type integer NOT NULL DEFAULT 0,
  business_name varchar,
  csat_config jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX index_inboxes_on_account_id ON inboxes (account_id);
CREATE INDEX index_inboxes_on_channel_id_and_channel_type ON inboxes (channel_id, channel_type);

CREATE TABLE inbox_members (
  id serial PRIMARY KEY,
  user_id integer NOT NULL,
  inbox_id integer NOT NULL,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL
);
CREATE UNIQUE INDEX index_inbox_members_on_inbox_id_and_user_id ON inbox_members (inbox_id, user_id);

CREATE TABLE teams (
  id bigserial PRIMARY KEY,
  name varchar NOT NULL,
  description text,
  allow_auto_assign boolean DEFAULT true,
  account_id bigint NOT NULL,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL
);
CREATE INDEX index_teams_on_account_id ON teams (account_id);
CREATE UNIQUE INDEX index_teams_on_name_and_account_id ON teams (name, account_id);

CREATE TABLE team_members (
  id bigserial PRIMARY KEY,
  team_id bigint NOT NULL,
  user_id bigint NOT NULL,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL
);
CREATE UNIQUE INDEX index_team_members_on_team_id_and_user_id ON team_members (team_id, user_id);
CREATE INDEX index_team_members_on_user_id ON team_members (user_id);

CREATE TABLE contacts (
  id serial PRIMARY KEY,
  name varchar DEFAULT '',
  email varchar,
  phone_number varchar,
  account_id integer NOT NULL,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL,
  additional_attributes jsonb DEFAULT '{}',
  identifier varchar,
  custom_attributes jsonb DEFAULT '{}',
  last_activity_at timestamp,
  contact_type integer DEFAULT 0,
  middle_name varchar DEFAULT '',
  last_name varchar DEFAULT '',
  location varchar DEFAULT '',
  country_code varchar DEFAULT '',
  blocked boolean NOT NULL DEFAULT false
);
CREATE INDEX index_contacts_on_account_id ON contacts (account_id);
CREATE INDEX index_contacts_on_account_id_and_last_activity_at ON contacts (account_id, last_activity_at DESC NULLS LAST);
CREATE INDEX index_contacts_on_lower_email_account_id ON contacts (lower(email), account_id);
CREATE INDEX index_contacts_on_phone_number_and_account_id ON contacts (phone_number, account_id);
CREATE UNIQUE INDEX uniq_email_per_account_contact ON contacts (email, account_id);
CREATE UNIQUE INDEX uniq_identifier_per_account_contact ON contacts (identifier, account_id);

CREATE TABLE contact_inboxes (
  id bigserial PRIMARY KEY,
  contact_id bigint,
  inbox_id bigint,
  source_id varchar NOT NULL,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL,
  hmac_verified boolean DEFAULT false,
  pubsub_token varchar
);
CREATE INDEX index_contact_inboxes_on_contact_id ON contact_inboxes (contact_id);
CREATE INDEX index_contact_inboxes_on_inbox_id ON contact_inboxes (inbox_id);
CREATE UNIQUE INDEX index_contact_inboxes_on_inbox_id_and_source_id ON contact_inboxes (inbox_id, source_id);
CREATE UNIQUE INDEX index_contact_inboxes_on_pubsub_token ON contact_inboxes (pubsub_token);

CREATE TABLE conversations (
  id serial PRIMARY KEY,
  account_id integer NOT NULL,
  inbox_id integer NOT NULL,
  status integer NOT NULL DEFAULT 0,
  assignee_id integer,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL,
  contact_id bigint,
  display_id integer NOT NULL,
  contact_last_seen_at timestamp,
  agent_last_seen_at timestamp,
  additional_attributes jsonb DEFAULT '{}',
  contact_inbox_id bigint,
  uuid uuid NOT NULL DEFAULT gen_random_uuid(),
  identifier varchar,
  last_activity_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  team_id bigint,
  campaign_id bigint,
  snoozed_until timestamp,
  custom_attributes jsonb DEFAULT '{}',
  assignee_last_seen_at timestamp,
  first_reply_created_at timestamp,
  priority integer,
  sla_policy_id bigint,
  waiting_since timestamp(6),
  cached_label_list text,
  assignee_agent_bot_id bigint
);
CREATE UNIQUE INDEX index_conversations_on_account_id_and_display_id ON conversations (account_id, display_id);
CREATE INDEX index_conversations_on_id_and_account_id ON conversations (account_id, id);
CREATE INDEX conv_acid_inbid_stat_asgnid_idx ON conversations (account_id, inbox_id, status, assignee_id);
CREATE INDEX index_conversations_on_account_id ON conversations (account_id);
CREATE INDEX index_conversations_on_assignee_id_and_account_id ON conversations (assignee_id, account_id);
CREATE INDEX index_conversations_on_contact_id ON conversations (contact_id);
CREATE INDEX index_conversations_on_contact_inbox_id ON conversations (contact_inbox_id);
CREATE INDEX index_conversations_on_first_reply_created_at ON conversations (first_reply_created_at);
CREATE INDEX index_conversations_on_inbox_id ON conversations (inbox_id);
CREATE INDEX index_conversations_on_status_and_account_id ON conversations (status, account_id);
CREATE INDEX index_conversations_on_team_id ON conversations (team_id);
CREATE UNIQUE INDEX index_conversations_on_uuid ON conversations (uuid);
CREATE INDEX index_conversations_on_waiting_since ON conversations (waiting_since);

CREATE TABLE messages (
  id serial PRIMARY KEY,
  content text,
  account_id integer NOT NULL,
  inbox_id integer NOT NULL,
  conversation_id integer NOT NULL,
  message_type integer NOT NULL,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL,
  private boolean NOT NULL DEFAULT false,
  status integer DEFAULT 0,
  source_id varchar,
  content_type integer NOT NULL DEFAULT 0,
  content_attributes json DEFAULT '{}',
  sender_type varchar,
  sender_id bigint,
  external_source_ids jsonb DEFAULT '{}',
  additional_attributes jsonb DEFAULT '{}',
  processed_message_content text,
  sentiment jsonb DEFAULT '{}'
);
CREATE INDEX idx_messages_account_content_created ON messages (account_id, content_type, created_at);
CREATE INDEX index_messages_on_account_created_type ON messages (account_id, created_at, message_type);
CREATE INDEX index_messages_on_account_id_and_inbox_id ON messages (account_id, inbox_id);
CREATE INDEX index_messages_on_account_id ON messages (account_id);
CREATE INDEX index_messages_on_conversation_account_type_created
  ON messages (conversation_id, account_id, message_type, created_at);
CREATE INDEX index_messages_on_conversation_id ON messages (conversation_id);
CREATE INDEX index_messages_on_created_at ON messages (created_at);
CREATE INDEX index_messages_on_inbox_id ON messages (inbox_id);
CREATE INDEX index_messages_on_sender_type_and_sender_id ON messages (sender_type, sender_id);
CREATE INDEX index_messages_on_source_id ON messages (source_id);

CREATE TABLE attachments (
  id serial PRIMARY KEY,
  file_type integer DEFAULT 0,
  external_url varchar,
  coordinates_lat double precision DEFAULT 0.0,
  coordinates_long double precision DEFAULT 0.0,
  message_id integer NOT NULL,
  account_id integer NOT NULL,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL,
  fallback_title varchar,
  extension varchar,
  meta jsonb DEFAULT '{}'
);
CREATE INDEX index_attachments_on_account_id ON attachments (account_id);
CREATE INDEX index_attachments_on_message_id ON attachments (message_id);

CREATE TABLE active_storage_blobs (
  id bigserial PRIMARY KEY,
  key varchar NOT NULL,
  filename varchar NOT NULL,
  content_type varchar,
  metadata text,
  byte_size bigint NOT NULL,
  checksum varchar,
  created_at timestamp NOT NULL,
  service_name varchar NOT NULL
);
CREATE UNIQUE INDEX index_active_storage_blobs_on_key ON active_storage_blobs (key);

CREATE TABLE active_storage_attachments (
  id bigserial PRIMARY KEY,
  name varchar NOT NULL,
  record_type varchar NOT NULL,
  record_id bigint NOT NULL,
  blob_id bigint NOT NULL REFERENCES active_storage_blobs,
  created_at timestamp NOT NULL
);
CREATE INDEX index_active_storage_attachments_on_blob_id ON active_storage_attachments (blob_id);
CREATE UNIQUE INDEX index_active_storage_attachments_uniqueness
  ON active_storage_attachments (record_type, record_id, name, blob_id);

CREATE TABLE csat_survey_responses (
  id bigserial PRIMARY KEY,
  account_id bigint NOT NULL,
  conversation_id bigint NOT NULL,
  message_id bigint NOT NULL,
  rating integer NOT NULL,
  feedback_message text,
  contact_id bigint NOT NULL,
  assigned_agent_id bigint,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL
);
CREATE INDEX index_csat_survey_responses_on_account_id ON csat_survey_responses (account_id);
CREATE INDEX index_csat_survey_responses_on_conversation_id ON csat_survey_responses (conversation_id);
CREATE INDEX index_csat_survey_responses_on_assigned_agent_id ON csat_survey_responses (assigned_agent_id);
CREATE INDEX index_csat_survey_responses_on_contact_id ON csat_survey_responses (contact_id);
CREATE UNIQUE INDEX index_csat_survey_responses_on_message_id ON csat_survey_responses (message_id);

CREATE TABLE notes (
  id bigserial PRIMARY KEY,
  content text NOT NULL,
  account_id bigint NOT NULL,
  contact_id bigint NOT NULL,
  user_id bigint,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL
);
CREATE INDEX index_notes_on_account_id ON notes (account_id);
CREATE INDEX index_notes_on_contact_id ON notes (contact_id);
CREATE INDEX index_notes_on_user_id ON notes (user_id);

CREATE TABLE canned_responses (
  id serial PRIMARY KEY,
  account_id integer NOT NULL,
  short_code varchar,
  content text,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL
);

CREATE TABLE labels (
  id bigserial PRIMARY KEY,
  title varchar,
  description text,
  color varchar NOT NULL DEFAULT '#1f93ff',
  show_on_sidebar boolean,
  account_id bigint,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL
);
CREATE INDEX index_labels_on_account_id ON labels (account_id);
CREATE UNIQUE INDEX index_labels_on_title_and_account_id ON labels (title, account_id);

CREATE TABLE tags (
  id serial PRIMARY KEY,
  name varchar,
  taggings_count integer DEFAULT 0
);
CREATE UNIQUE INDEX index_tags_on_name ON tags (name);

CREATE TABLE taggings (
  id serial PRIMARY KEY,
  tag_id integer,
  taggable_type varchar,
  taggable_id integer,
  tagger_type varchar,
  tagger_id integer,
  context varchar(128),
  created_at timestamp
);
CREATE UNIQUE INDEX taggings_idx ON taggings (tag_id, taggable_id, taggable_type, context, tagger_id, tagger_type);
CREATE INDEX index_taggings_on_taggable_id_and_taggable_type_and_context
  ON taggings (taggable_id, taggable_type, context);

CREATE TABLE custom_attribute_definitions (
  id bigserial PRIMARY KEY,
  attribute_display_name varchar,
  attribute_key varchar,
  attribute_display_type integer DEFAULT 0,
  default_value integer,
  attribute_model integer DEFAULT 0,
  account_id bigint,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL,
  attribute_description text,
  attribute_values jsonb DEFAULT '[]',
  regex_pattern varchar,
  regex_cue varchar
);
CREATE UNIQUE INDEX attribute_key_model_index ON custom_attribute_definitions (attribute_key, attribute_model, account_id);

CREATE TABLE reporting_events (
  id bigserial PRIMARY KEY,
  name varchar,
  value double precision,
  account_id integer,
  inbox_id integer,
  user_id integer,
  conversation_id integer,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL,
  value_in_business_hours double precision,
  event_start_time timestamp,
  event_end_time timestamp
);
CREATE INDEX reporting_events__account_id__name__created_at ON reporting_events (account_id, name, created_at);
CREATE INDEX index_reporting_events_on_conversation_id ON reporting_events (conversation_id);
CREATE INDEX index_reporting_events_on_created_at ON reporting_events (created_at);

CREATE TABLE agent_bots (
  id bigserial PRIMARY KEY,
  name varchar,
  description varchar,
  outgoing_url varchar,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL,
  account_id bigint,
  bot_type integer DEFAULT 0,
  bot_config jsonb DEFAULT '{}'
);
CREATE INDEX index_agent_bots_on_account_id ON agent_bots (account_id);

CREATE TABLE captain_assistants (
  id bigserial PRIMARY KEY,
  name varchar NOT NULL,
  account_id bigint NOT NULL,
  description varchar,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL,
  config jsonb NOT NULL DEFAULT '{}',
  response_guidelines jsonb DEFAULT '[]',
  guardrails jsonb DEFAULT '[]'
);
CREATE INDEX index_captain_assistants_on_account_id ON captain_assistants (account_id);

CREATE TABLE channel_web_widgets (
  id serial PRIMARY KEY,
  website_url varchar,
  account_id integer,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL,
  website_token varchar UNIQUE,
  widget_color varchar DEFAULT '#1f93ff',
  hmac_token varchar UNIQUE,
  hmac_mandatory boolean DEFAULT false
);

CREATE TABLE channel_api (
  id bigserial PRIMARY KEY,
  account_id integer NOT NULL,
  webhook_url varchar,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL,
  identifier varchar UNIQUE,
  hmac_token varchar UNIQUE,
  hmac_mandatory boolean DEFAULT false,
  additional_attributes jsonb DEFAULT '{}'
);

CREATE TABLE channel_email (
  id bigserial PRIMARY KEY,
  account_id integer NOT NULL,
  email varchar NOT NULL UNIQUE,
  forward_to_email varchar NOT NULL UNIQUE,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL,
  imap_enabled boolean DEFAULT false,
  imap_address varchar DEFAULT '',
  imap_port integer DEFAULT 0,
  imap_login varchar DEFAULT '',
  imap_password varchar DEFAULT '',
  smtp_enabled boolean DEFAULT false,
  smtp_address varchar DEFAULT '',
  smtp_port integer DEFAULT 0,
  smtp_login varchar DEFAULT '',
  smtp_password varchar DEFAULT '',
  provider_config jsonb DEFAULT '{}',
  provider varchar
);

CREATE TABLE channel_facebook_pages (
  id serial PRIMARY KEY,
  page_id varchar NOT NULL,
  user_access_token varchar NOT NULL,
  page_access_token varchar NOT NULL,
  account_id integer NOT NULL,
  created_at timestamp NOT NULL,
  updated_at timestamp NOT NULL,
  instagram_id varchar
);

CREATE TABLE channel_whatsapp (
  id bigserial PRIMARY KEY,
  account_id integer NOT NULL,
  phone_number varchar NOT NULL UNIQUE,
  provider varchar DEFAULT 'default',
  provider_config jsonb DEFAULT '{}',
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL
);

CREATE TABLE channel_telegram (
  id bigserial PRIMARY KEY,
  bot_name varchar,
  account_id integer NOT NULL,
  bot_token varchar NOT NULL UNIQUE,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL
);

CREATE TABLE channel_twilio_sms (
  id bigserial PRIMARY KEY,
  phone_number varchar,
  auth_token varchar NOT NULL,
  account_sid varchar NOT NULL,
  account_id integer NOT NULL,
  created_at timestamp(6) NOT NULL,
  updated_at timestamp(6) NOT NULL,
  medium integer DEFAULT 0,
  api_key_sid varchar
);

-- Each account counts its conversations with a sequence. A trigger takes the next number for every new conversation.
CREATE FUNCTION conversation_counter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE SEQUENCE IF NOT EXISTS conv_dpid_seq_%s', NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER accounts_after_insert_row_tr AFTER INSERT ON accounts
  FOR EACH ROW EXECUTE FUNCTION conversation_counter();

CREATE FUNCTION conversation_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.display_id := nextval('conv_dpid_seq_' || NEW.account_id);
  RETURN NEW;
END $$;
CREATE TRIGGER conversations_before_insert_row_tr BEFORE INSERT ON conversations
  FOR EACH ROW EXECUTE FUNCTION conversation_number();
