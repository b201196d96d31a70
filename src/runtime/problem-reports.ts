import type { Base } from '../base.ts';
import { HOUR } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { newOrderedId } from '../lib/ids.ts';
import { MAX_OFFSET, readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { Environment } from '../store/environments.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';

/** Reports of one caller within an hour. */
const MAX_AN_HOUR = 20;

/** A problem that an agent reports: a refusal or a description that misled it. */
interface ProblemReport {
  environment: Environment;
  serverId: string;
  userId: string | undefined;
  /** The caller's label, as in executions. */
  caller: string;
  tool: string | undefined;
  executionId: string | undefined;
  message: string;
}

/**
 * Stores a report, for 90 days or until its user is deleted.
 * @throws GatehouseError `rate_limited` beyond 20 reports of a caller in an hour.
 */
export async function reportProblem(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  report: ProblemReport,
): Promise<void> {
  const now = clock.now();
  const { count } = await db
    .selectFrom('problem_reports')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('caller', '=', report.caller)
    .where('at', '>', now - HOUR)
    .executeTakeFirstOrThrow();
  if (Number(count) >= MAX_AN_HOUR)
    throw new GatehouseError('rate_limited', `A caller reports at most ${MAX_AN_HOUR} problems an hour.`);
  await db
    .insertInto('problem_reports')
    .values({
      report_id: newOrderedId('rep', now),
      environment: report.environment,
      at: now,
      server_id: report.serverId,
      user_id: report.userId ?? null,
      caller: report.caller,
      tool: report.tool ?? null,
      execution_id: report.executionId ?? null,
      message: report.message,
    })
    .execute();
}

const ORDER: ListOrder = {
  columns: { at: 'whole', report_id: 'id' },
  direction: 'desc',
  maxOffset: MAX_OFFSET,
};

/**
 * Returns a page of reports, newest first.
 * @throws GatehouseError `invalid_request` for an offset beyond 10,000.
 */
export async function listProblemReports(
  db: DbOrTx,
  environment: Environment,
  page: PageRequest,
): Promise<PageEnd & { reports: Tables['problem_reports'][] }> {
  const query = db.selectFrom('problem_reports').selectAll().where('environment', '=', environment);
  const { rows: reports, ...end } = await readPage(query, ORDER, page);
  return { reports, ...end };
}
