import type { Context } from '../context.ts';
import { HOUR } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import { MIB } from '../../lib/http/http-body.ts';
import type { Tables, Tx } from '../../store/schema.ts';
import type { Grant } from './grant.ts';
import { boundTo } from '../../store/sealed-columns.ts';

type ResultContext = Pick<Context, 'db' | 'clock' | 'keys' | 'throttle'>;

/** A stored result that was too large to inline, as shown to the model. */
export interface LargeResult {
  resultId: string;
  uri: string;
  bytes: number;
  pages: number;
  [member: string]: string | number;
}

/** The action that produced a result. A caller must still be allowed to run it to read the result. */
export interface ResultSource {
  connectorId: string;
  actionId: string;
}

/** Characters in a page. */
const PAGE_CHARS = 64 * 1024;
const KEPT_MS = HOUR;
/** Storage limits in bytes: for one user of one server, and for all together. The oldest results are deleted first. */
const LIMITS = { perUser: 32 * MIB, all: 1024 * MIB };
const PAGES_A_STATEMENT = 16;

/** Stores a result for an hour, sealed, for its caller, user and server. */
export async function storeResult(
  context: ResultContext,
  grant: Grant,
  {
    text,
    source,
    limits = LIMITS,
  }: { text: string; source: ResultSource | undefined; limits?: typeof LIMITS },
): Promise<LargeResult> {
  const { db, clock, throttle } = context;
  const resultId = newId('res');
  const now = clock.now();
  const bytes = Buffer.byteLength(text);
  const pages = await sealPages(context, resultId, text);
  const row = {
    result_id: resultId,
    environment: grant.environment,
    server_id: grant.live.server.serverId,
    user_id: grant.userId ?? null,
    caller: grant.caller,
    connector_id: source?.connectorId ?? null,
    action_id: source?.actionId ?? null,
    bytes,
    pages: pages.length,
    expires_at: now + KEPT_MS,
    created_at: now,
  };
  await db.transaction().execute(async (tx) => {
    await makeRoom(tx, row, limits);
    await tx.insertInto('results').values(row).execute();
    for (let at = 0; at < pages.length; at += PAGES_A_STATEMENT) {
      if (at > 0) await throttle.pause();
      await tx
        .insertInto('result_pages')
        .values(pages.slice(at, at + PAGES_A_STATEMENT))
        .execute();
    }
  });
  return { resultId, uri: `svc://results/${resultId}`, bytes, pages: pages.length };
}

/** Seals the pages of a text with pauses for other requests, because sealing 10 MiB at once takes 50 ms. */
async function sealPages(
  { keys, throttle }: ResultContext,
  resultId: string,
  text: string,
): Promise<Tables['result_pages'][]> {
  const sealed: Tables['result_pages'][] = [];
  for (const page of pagesOf(text)) {
    const number = sealed.length + 1;
    sealed.push({ result_id: resultId, page: number, sealed: keys.seal(page, binding(resultId, number)) });
    if (number % PAGES_A_STATEMENT === 0) await throttle.pause();
  }
  return sealed;
}

/** Returns a page of a stored result and the number of pages; undefined for any other caller. */
export async function readResultPage(
  { db, clock, keys }: ResultContext,
  grant: Grant,
  { resultId, page }: { resultId: string; page: number },
): Promise<{ text: string; pages: number; source: ResultSource | undefined } | undefined> {
  const row = await pagesFor({ db, clock }, grant, resultId)
    .select('sealed')
    .where('page', '=', page)
    .executeTakeFirst();
  if (!row || !isOf(grant, row)) return undefined;
  return { text: keys.open(row.sealed, binding(resultId, page)), pages: row.pages, source: sourceOf(row) };
}

/** Returns the text of a stored result; undefined for any other caller. It may have 10 MiB. */
export async function readWholeResult(
  { db, clock, keys, throttle }: ResultContext,
  grant: Grant,
  resultId: string,
): Promise<{ text: string; source: ResultSource | undefined } | undefined> {
  const rows = await pagesFor({ db, clock }, grant, resultId)
    .select(['sealed', 'page'])
    .orderBy('page')
    .execute();
  const [first] = rows;
  if (!first || !isOf(grant, first)) return undefined;
  const texts: string[] = [];
  for (const { sealed, page } of rows) {
    texts.push(keys.open(sealed, binding(resultId, page)));
    if (page % PAGES_A_STATEMENT === 0) await throttle.pause();
  }
  return { text: texts.join(''), source: sourceOf(first) };
}

/**
 * Returns why the caller may not read a result: the rule that denies the action that produced it, or `gone` for an
 * action that no longer exists. Returns undefined when the caller may read it.
 */
export function sourceRule(
  { catalog }: Pick<Context, 'catalog'>,
  { environment, live }: Pick<Grant, 'environment' | 'live'>,
  source: ResultSource | undefined,
): string | undefined {
  if (!source) return undefined;
  const action = catalog.action(environment, source.connectorId, source.actionId);
  return action ? live.decision.action(action) : 'gone';
}

type ResultOwner = Pick<Tables['results'], 'user_id' | 'caller' | 'connector_id' | 'action_id'>;

/** Returns the query of the pages of a result that this server stored. */
function pagesFor({ db, clock }: Pick<ResultContext, 'db' | 'clock'>, grant: Grant, resultId: string) {
  return db
    .selectFrom('results')
    .innerJoin('result_pages', 'result_pages.result_id', 'results.result_id')
    .select(['user_id', 'caller', 'connector_id', 'action_id', 'pages'])
    .where('results.result_id', '=', resultId)
    .where('environment', '=', grant.environment)
    .where('server_id', '=', grant.live.server.serverId)
    .where('expires_at', '>', clock.now());
}

function isOf(grant: Grant, { user_id, caller }: ResultOwner): boolean {
  return user_id === (grant.userId ?? null) && caller === grant.caller;
}

function sourceOf({ connector_id, action_id }: ResultOwner): ResultSource | undefined {
  return connector_id !== null && action_id !== null
    ? { connectorId: connector_id, actionId: action_id }
    : undefined;
}

/** Deletes the oldest results of this user at this server, then of all users, until the new one fits. */
async function makeRoom(tx: Tx, row: Tables['results'], limits: typeof LIMITS): Promise<void> {
  const oldest = tx.selectFrom('results').select(['result_id', 'bytes']).orderBy('created_at');
  const own = await oldest
    .where('server_id', '=', row.server_id)
    .where('user_id', row.user_id === null ? 'is' : '=', row.user_id)
    .execute();
  const gone = overflow(own, limits.perUser - row.bytes);
  if (gone.length > 0) await tx.deleteFrom('results').where('result_id', 'in', gone).execute();
  const { total } = await tx
    .selectFrom('results')
    .select((e) => e.fn.coalesce(e.fn.sum<number>('bytes'), e.lit(0)).as('total'))
    .executeTakeFirstOrThrow();
  if (Number(total) + row.bytes <= limits.all) return;
  const surplus = overflow(await oldest.execute(), limits.all - row.bytes);
  if (surplus.length > 0) await tx.deleteFrom('results').where('result_id', 'in', surplus).execute();
}

/** Returns the oldest results to delete so that the rest fits. `rows` are oldest first. */
function overflow(rows: { result_id: string; bytes: number }[], room: number): string[] {
  let total = rows.reduce((sum, { bytes }) => sum + bytes, 0);
  const gone: string[] = [];
  for (const { result_id: resultId, bytes } of rows) {
    if (total <= room) break;
    gone.push(resultId);
    total -= bytes;
  }
  return gone;
}

/** Cuts a text into pages. Does not cut surrogate pairs, because a database rejects half of one. */
function pagesOf(text: string): string[] {
  const pages: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + PAGE_CHARS;
    const torn = end < text.length && /[\uDC00-\uDFFF]/.test(text.charAt(end));
    pages.push(text.slice(at, torn ? end - 1 : end));
    at = torn ? end - 1 : end;
  }
  return pages;
}

function binding(resultId: string, page: number): string {
  return boundTo('result_pages.sealed', { result_id: resultId, page });
}
