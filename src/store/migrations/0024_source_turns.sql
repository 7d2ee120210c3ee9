-- The helpdesk whose records a website holds. `account` and `installation` are digests of values that never change there.
-- Another helpdesk with the same account number must not take the website over.
CREATE TABLE gateway.source_installation (
  tenant bigint NOT NULL,
  site bigint NOT NULL,
  account text NOT NULL,
  installation text,                                   -- null where the helpdesk's own identifier cannot be read
  PRIMARY KEY (tenant, site),
  FOREIGN KEY (tenant, site) REFERENCES platform.website ON DELETE CASCADE
);
