/** The result of one check. `fix` is the remedy for a warning or a failure. */
export interface Finding {
  name: string;
  state: 'ok' | 'warn' | 'fail';
  found: string;
  fix?: string | undefined;
}

/** Returns functions that make the findings of a check. */
export function findingsOf(name: string) {
  return {
    ok: (found: string): Finding => ({ name, state: 'ok', found }),
    warn: (found: string, fix: string): Finding => ({ name, state: 'warn', found, fix }),
    fail: (found: string, fix?: string): Finding => ({ name, state: 'fail', found, fix }),
  };
}
