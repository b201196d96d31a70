import { readConfig } from '../config.ts';
import { verifyAudit } from '../runtime/audit-verify.ts';
import { openStarted } from './started.ts';

/** Runs `gatehouse audit verify`. Returns 1 when a row is broken. */
export async function verify(options: { checkpoint: string | undefined; json: boolean }): Promise<number> {
  const context = await openStarted(readConfig());
  try {
    const result = await verifyAudit(context, options.checkpoint);
    const { entries, chains, checkpoints, unchained, executions, broken } = result;
    if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
    else if (broken) process.stdout.write(`Broken: ${broken.row}: ${broken.reason}.\n`);
    else
      process.stdout.write(
        `The audit log is whole: ${entries} entries in ${chains} chains, ${checkpoints} checkpoints.\n` +
          `The record of calls is whole: ${executions} executions.\n` +
          (unchained > 0 ? `${unchained} entries of earlier releases have no hash.\n` : ''),
      );
    return broken ? 1 : 0;
  } finally {
    await context.close();
  }
}
