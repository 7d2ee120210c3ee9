-- Runs once, when the volume is new. The role of the gateway owns its database and is no superuser.
\getenv password DATABASE_PASSWORD
CREATE ROLE gateway LOGIN PASSWORD :'password';
CREATE DATABASE gateway OWNER gateway;
