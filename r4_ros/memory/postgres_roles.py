"""A database role for each robot: it reads the fleet's memory, and writes into its own inbox only.

The tables of the memory are written by one process, the map server; a robot's role may not write to them at all. What a
robot has to say it puts into the table ``inbox``, where row-level security binds its rows to its agent.
"""

from __future__ import annotations

import re

from r4_ros.core.errors import InvalidArgument
from r4_ros.memory.postgres_experience import experience_grants
from r4_ros.memory.sql import Migration

INBOX_ROW_BYTES = 16 << 20
INBOX_ROWS, INBOX_BYTES = 64, 64 << 20
"""More batches, and more bytes, of one agent don't wait: a robot can't fill the server's disk."""
CONNECTIONS = 4
_NAME = re.compile("[a-z_][a-z0-9_]{0,62}")

ROLES: Migration = (
    """CREATE TABLE robot_role(role_name NAME PRIMARY KEY, agent_id TEXT COLLATE "C" NOT NULL)""",
    f"""CREATE TABLE inbox(
        inbox_no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, agent_id TEXT COLLATE "C" NOT NULL,
        writer TEXT COLLATE "C" NOT NULL, sequence BIGINT NOT NULL, kind TEXT COLLATE "C" NOT NULL,
        sent_ns BIGINT NOT NULL, content BYTEA NOT NULL CHECK (octet_length(content) <= {INBOX_ROW_BYTES}),
        came TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(), UNIQUE(agent_id, writer, sequence))""",
    "ALTER TABLE inbox ENABLE ROW LEVEL SECURITY",
    """CREATE POLICY own_agent ON inbox
        USING (agent_id = (SELECT r.agent_id FROM robot_role r WHERE r.role_name = current_user))
        WITH CHECK (agent_id = (SELECT r.agent_id FROM robot_role r WHERE r.role_name = current_user))""",
)
"""``inbox``: what robots sent and the map server hasn't worked in yet, each (agent, writer, sequence) once."""
INBOX_ROOM: Migration = (
    f"""CREATE FUNCTION inbox_room() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE waiting BIGINT; size BIGINT; BEGIN
        SELECT count(*), coalesce(sum(octet_length(content)), 0) INTO waiting, size FROM inbox
            WHERE agent_id = NEW.agent_id;
        IF waiting >= {INBOX_ROWS} OR size + octet_length(NEW.content) > {INBOX_BYTES} THEN
            RAISE EXCEPTION USING ERRCODE = '54000', MESSAGE = format('%s batches of %s wait', waiting, NEW.agent_id);
        END IF;
        RETURN NEW; END $$""",
    "CREATE TRIGGER inbox_room BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION inbox_room()",
)


def role_statements(role: str, agent: str, database: str, scram: str = "") -> list[str]:
    """The SQL that makes a robot's role, or makes it right again. ``scram``: its password as SCRAM verifier, if any.

    Raises InvalidArgument for names that can't be.
    """
    if not _NAME.fullmatch(role):
        raise InvalidArgument(f"'{role}' is no name of a role: small letters, digits and '_', at most 63")
    if not agent or "\0" in agent:
        raise InvalidArgument("the role needs an agent: the namespace of its robot")
    password = f" PASSWORD {_text(scram)}" if scram else ""
    owner = '"' + database.replace('"', '""') + '"'
    return [
        f"DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
        f"ALTER ROLE {role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS CONNECTION LIMIT {CONNECTIONS}"
        + password,
        f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}",
        f"GRANT CONNECT ON DATABASE {owner} TO {role}",
        f"GRANT USAGE ON SCHEMA public TO {role}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}",
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO {role}",
        f"GRANT INSERT (agent_id, writer, sequence, kind, sent_ns, content) ON inbox TO {role}",
        *experience_grants(role),
        f"INSERT INTO robot_role VALUES ({_text(role)}, {_text(agent)}) "
        "ON CONFLICT(role_name) DO UPDATE SET agent_id = excluded.agent_id",
    ]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
