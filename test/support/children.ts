import { readdirSync, readFileSync } from 'node:fs';

/** Returns the processes of programs that this one started, on Linux. No other child has this limit of memory. */
export function programProcesses() {
  return children().filter(({ flags }) => flags.includes('--max-old-space-size=160'));
}

/** Returns the processes that this one started, on Linux. */
export function children(): { pid: number; flags: string[] }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        if (!status.includes(`PPid:\t${process.pid}\n`)) return [];
        return [{ pid: Number(pid), flags: readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0') }];
      } catch {
        // The process ended between the two reads.
        return [];
      }
    });
}
