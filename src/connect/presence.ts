import type { Context } from './context.ts';
import { SECOND } from '../lib/clock.ts';
import type { DbOrTx } from '../store/schema.ts';

/** Interval at which a serving process records that it is alive. */
const BEAT_MS = 15 * SECOND;
/** Without a record for this long, no process is serving. */
const GONE_MS = 3 * BEAT_MS;

type PresenceContext = Pick<Context, 'db' | 'clock' | 'publicUrl' | 'serving'>;

/** Records where this process serves until it is closed. Processes without a port then make links to it. */
export async function startPresence(
  context: PresenceContext & Pick<Context, 'log'>,
): Promise<{ close(): Promise<void> }> {
  const { clock, log } = context;
  const beat = () =>
    record(context, clock.now()).catch((error: unknown) => log.warn({ err: error }, 'presence not recorded'));
  await beat();
  const timer = setInterval(() => void beat(), BEAT_MS);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await record(context, 0).catch((error: unknown) => log.warn({ err: error }, 'presence not cleared'));
    },
  };
}

/** Returns the public URL of the process that served last; undefined when none ever served. */
export async function lastServedUrl(db: DbOrTx): Promise<string | undefined> {
  const row = await db.selectFrom('presence').select('public_url').executeTakeFirst();
  return row?.public_url;
}

/** Returns the public URL of the process that serves the store now; undefined when none does. */
export async function servedUrl(db: DbOrTx, now: number): Promise<string | undefined> {
  const row = await db.selectFrom('presence').selectAll().executeTakeFirst();
  return row && row.seen_at > now - GONE_MS ? row.public_url : undefined;
}

/** Returns a warning for the receiver of a link that no process serves; undefined when one serves it. */
export async function unservedNote(context: PresenceContext): Promise<string | undefined> {
  const { db, clock, publicUrl, serving } = context;
  if (serving) return undefined;
  if ((await servedUrl(db, clock.now())) === publicUrl) return undefined;
  return (
    `No Gatehouse serves ${publicUrl} at the moment, so the link does not open. ` +
    'Ask the user to start Gatehouse (npm start) and to open the link then.'
  );
}

async function record({ db, publicUrl }: PresenceContext, seenAt: number): Promise<void> {
  await db
    .insertInto('presence')
    .values({ name: 'service', public_url: publicUrl, seen_at: seenAt })
    .onConflict((oc) => oc.column('name').doUpdateSet({ public_url: publicUrl, seen_at: seenAt }))
    .execute();
}
