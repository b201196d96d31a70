import type { Progress } from '../backup/backup-format.ts';

/** Shows the last finished table in one line of standard error; shows nothing where that is no terminal. */
export function tableProgress(): { onTable: Progress; end(): void } {
  const { stderr } = process;
  if (!stderr.isTTY) return { onTable: () => {}, end: () => {} };
  const clear = (): boolean => stderr.write('\r\x1b[K');
  let all = 0;
  return {
    onTable(table, rows) {
      all += rows;
      clear();
      stderr.write(`${all} rows, ${table}`);
    },
    end: clear,
  };
}
