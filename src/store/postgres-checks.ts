import type pg from 'pg';

/** Facts of a PostgreSQL database that decide whether a store can live in it. */
interface Facts {
  encoding: string;
  read_only: string;
  standby: boolean;
}

/** Returns why a database cannot hold a store, with the remedy; undefined for a usable one. */
export async function faultOf(client: pg.ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<Facts>(
    `select current_setting('server_encoding') as encoding, current_setting('transaction_read_only') as read_only,
      pg_is_in_recovery() as standby`,
  );
  const [facts] = rows;
  if (!facts) return undefined;
  if (facts.encoding !== 'UTF8')
    return (
      `The database of DATABASE_URL has the encoding ${facts.encoding}, which cannot store all texts. Create one with: ` +
      "create database gatehouse encoding 'UTF8' template template0, and name it in DATABASE_URL."
    );
  if (facts.standby)
    return 'The PostgreSQL server of DATABASE_URL is a standby, which takes no writes. Name the primary server in DATABASE_URL.';
  if (facts.read_only === 'on')
    return (
      'The PostgreSQL server of DATABASE_URL takes no writes, because default_transaction_read_only is on. ' +
      'Set it to off for the role, the database or the server.'
    );
  return undefined;
}
