import type { Context } from '../context.ts';
import { SECOND } from '../lib/clock.ts';
import type { DbOrTx } from '../store/schema.ts';

/** A serving process notes this often that it is there. */
const BEAT_MS = 15 * SECOND;
/** After this long without a note, no process serves. */
const GONE_MS = 3 * BEAT_MS;

type PresenceContext = Pick<Context, 'db' | 'clock' | 'publicUrl' | 'serving'>;

/** Notes where this process serves until it is closed, so that processes without a port make links that lead here. */
export async function startPresence(
  context: PresenceContext & Pick<Context, 'log'>,
): Promise<{ close(): Promise<void> }> {
  const { clock, log } = context;
  const beat = () =>
    note(context, clock.now()).catch((error: unknown) => log.warn({ err: error }, 'presence not noted'));
  await beat();
  const timer = setInterval(() => void beat(), BEAT_MS);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await note(context, 0).catch((error: unknown) => log.warn({ err: error }, 'presence not ended'));
    },
  };
}

/** The public URL of the process that served last; undefined where none ever did. */
export async function rememberedUrl(db: DbOrTx): Promise<string | undefined> {
  const row = await db.selectFrom('presence').select('public_url').executeTakeFirst();
  return row?.public_url;
}

/** A sentence for who is given a link that no process serves; undefined where one does. */
export async function unservedNote(context: PresenceContext): Promise<string | undefined> {
  const { db, clock, publicUrl, serving } = context;
  if (serving) return undefined;
  const row = await db.selectFrom('presence').selectAll().executeTakeFirst();
  if (row?.public_url === publicUrl && row.seen_at > clock.now() - GONE_MS) return undefined;
  return (
    `No Gatehouse serves ${publicUrl} at the moment, so the link does not open. ` +
    'Ask the user to start Gatehouse (npm start) and to open the link then.'
  );
}

async function note({ db, publicUrl }: PresenceContext, seenAt: number): Promise<void> {
  await db
    .insertInto('presence')
    .values({ name: 'service', public_url: publicUrl, seen_at: seenAt })
    .onConflict((oc) => oc.column('name').doUpdateSet({ public_url: publicUrl, seen_at: seenAt }))
    .execute();
}
