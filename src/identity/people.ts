import type { Base } from '../base.ts';
import { shownName } from '../lib/hidden-characters.ts';
import { newId } from '../lib/ids.ts';
import { CONSOLE_ROLES, type ConsoleRole } from '../lib/oidc-settings.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { SignedInPerson } from './oidc.ts';

/** A person who signed in to the console by OpenID Connect. */
export interface Person {
  personId: string;
  issuer: string;
  name: string | null;
  email: string | null;
  role: ConsoleRole;
}

/** People that a list shows at most. */
const MOST_PEOPLE = 500;

/** Returns how records name the person as their caller. */
export function labelOfPerson(personId: string): string {
  return `person:${personId}`;
}

/** Stores what the provider said about a person at this sign-in. The person keeps the id of the first one. */
export async function savePerson(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  { issuer, subject, name, email, role }: Omit<SignedInPerson, 'idToken'>,
): Promise<Person> {
  const now = clock.now();
  const facts = { name, email, role, signed_in_at: now };
  const row = await db
    .insertInto('console_people')
    .values({ person_id: newId('per'), issuer, subject, created_at: now, ...facts })
    .onConflict((c) => c.columns(['issuer', 'subject']).doUpdateSet(facts))
    .returningAll()
    .executeTakeFirstOrThrow();
  return toPerson(row);
}

export async function findPerson(db: DbOrTx, personId: string): Promise<Person | undefined> {
  const row = await db
    .selectFrom('console_people')
    .selectAll()
    .where('person_id', '=', personId)
    .executeTakeFirst();
  return row && toPerson(row);
}

/** A person with the state of the sign-ins. */
export type ListedPerson = Person & { signedInAt: number; sessions: number };

/** Returns the people who signed in, the last sign-in first. */
export async function listPeople({ db, clock }: Pick<Base, 'db' | 'clock'>): Promise<ListedPerson[]> {
  const rows = await db
    .selectFrom('console_people')
    .selectAll()
    .select((e) =>
      e
        .selectFrom('console_sessions')
        .select((s) => s.fn.countAll<number | string>().as('count'))
        .whereRef('console_sessions.person_id', '=', 'console_people.person_id')
        .where('expires_at', '>', clock.now())
        .as('sessions'),
    )
    .orderBy('signed_in_at', 'desc')
    .limit(MOST_PEOPLE)
    .execute();
  return rows.map((row) => ({
    ...toPerson(row),
    signedInAt: row.signed_in_at,
    sessions: Number(row.sessions ?? 0),
  }));
}

/** Returns the name and the address of a person in one text. */
export function personInWords({
  name,
  email,
  personId,
}: Pick<Person, 'name' | 'email' | 'personId'>): string {
  if (name !== null && email !== null) return shownName(`${name} (${email})`);
  return shownName(name ?? email ?? '') || personId;
}

function toPerson(row: Tables['console_people']): Person {
  const { person_id: personId, issuer, name, email } = row;
  // A role of a later release gives no rights here.
  const role = CONSOLE_ROLES.find((one) => one === row.role) ?? 'viewer';
  return { personId, issuer, name, email, role };
}
