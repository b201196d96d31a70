import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the one browser of the run; undefined where none is installed. */
    chromium: string | undefined;
  }
}

/** Debian's path. */
const EXECUTABLE = '/usr/bin/chromium';
/** Pages at this name are no secure context, as on a staging host without TLS. */
const RESOLVER = '--host-resolver-rules=MAP app.test 127.0.0.1';

/** Starts one real Chromium for all test files that use it. Without one they are skipped, which CI does not accept. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!existsSync(EXECUTABLE)) {
    const remedy = `There is no ${EXECUTABLE}: apt-get install --no-install-recommends chromium`;
    if (process.env['CI']) throw new Error(remedy);
    process.stderr.write(`Skipping the tests in a browser. ${remedy}\n`);
    project.provide('chromium', undefined);
    return async () => {};
  }
  const server = await chromium.launchServer({ executablePath: EXECUTABLE, args: [RESOLVER] });
  project.provide('chromium', server.wsEndpoint());
  return () => server.close();
}
