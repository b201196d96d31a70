import { readConfig } from '../config.ts';
import { anchorFile } from '../identity/store-marker.ts';
import { readAnchor, type Anchor } from '../runtime/audit-anchor.ts';
import { verifyAudit } from '../runtime/audit-verify.ts';
import { openStarted } from './started.ts';

/** Runs `gatehouse audit verify`. Returns 1 when a row is broken. */
export async function verify(options: { checkpoint: string | undefined; json: boolean }): Promise<number> {
  const context = await openStarted(readConfig());
  try {
    const file = anchorFile(context.config, context.hashKey);
    const anchor = readAnchor(file);
    const result = await verifyAudit(context, { signature: options.checkpoint, anchor });
    const { entries, chains, checkpoints, executions, broken } = result;
    if (options.json) {
      process.stdout.write(`${JSON.stringify(result)}\n`);
      return broken ? 1 : 0;
    }
    if (broken) process.stdout.write(`Broken: ${broken.row}: ${broken.reason}.\n`);
    else
      process.stdout.write(
        `The audit log is whole: ${entries} entries in ${chains} chains, ${checkpoints} checkpoints.\n` +
          `The record of calls is whole: ${executions} executions.\n`,
      );
    process.stdout.write(anchorText(anchor, { file, signature: options.checkpoint }));
    return broken ? 1 : 0;
  } finally {
    await context.close();
  }
}

/** Returns the checkpoints outside of the database that were compared, in words. */
function anchorText(
  anchor: Anchor | undefined,
  { file, signature }: { file: string; signature: string | undefined },
): string {
  const used = [
    ...(anchor ? [`checkpoint ${anchor.sequence} of ${anchor.at}, from ${file}`] : []),
    ...(signature === undefined ? [] : ['the checkpoint of --checkpoint']),
  ];
  if (used.length > 0) return `Anchor: ${used.join(', and ')}.\n`;
  return (
    `No anchor was given: ${file} does not exist. If the newest rows were removed with their checkpoints, only a ` +
    'signature of the service log shows it (--checkpoint).\n'
  );
}
