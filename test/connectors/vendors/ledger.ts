import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const reason = z.string().min(20);

/** Facts about connectors that no document of a vendor contains. */
export const ledger = z
  .strictObject({
    /** Accepted differences, and why. `*` stands for any text. */
    accepted: z.record(
      z.string(),
      z.array(z.strictObject({ reason, differences: z.array(z.string()).min(1) })),
    ),
    /** Connectors without an extract, and why. */
    without: z.record(z.string(), reason),
    /** Values that sound destructive and are not, `<connector>.<action>.<parameter>=<value>`, and why. */
    harmless: z.record(z.string(), z.string().min(10)),
    /** API versions: the one that the connector sends, and the newest one that was known on a day. */
    versions: z.record(
      z.string(),
      z.strictObject({
        sends: z.array(z.string()).min(1),
        newest: z.string(),
        asOf: z.iso.date(),
        months: z.int().min(0),
      }),
    ),
    /** Id parameters that no action returns, and why. */
    open: z.record(z.string(), z.string().min(10)),
  })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, 'ledger.json'), 'utf8')));

const literal = (text: string): string => text.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);

/** Returns the differences that the ledger does not accept, and its entries without a matching difference. */
export function judged(connectorId: string, differences: string[]): { open: string[]; stale: string[] } {
  const entries = (ledger.accepted[connectorId] ?? []).flatMap((one) => one.differences);
  const fits = (entry: string, difference: string) =>
    new RegExp(`^${entry.split('*').map(literal).join('.*')}$`).test(difference);
  return {
    open: differences.filter((one) => !entries.some((entry) => fits(entry, one))),
    stale: entries.filter((entry) => !differences.some((one) => fits(entry, one))),
  };
}
