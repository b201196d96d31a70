import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the one browser of the run; undefined where none is installed. */
    chromium: string | undefined;
  }
}

/**
 * Debian's paths. The headless shell is the same engine without the windows of Chromium, whose drawing took three quarters
 * of the processor time of these tests.
 */
export const EXECUTABLES = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
/** Pages at this name are no secure context, as on a staging host without TLS. */
const RESOLVER = '--host-resolver-rules=MAP app.test 127.0.0.1';

/** Starts one real Chromium for all test files that use it. Without one they are skipped, which CI does not accept. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const executablePath = EXECUTABLES.find((path) => existsSync(path));
  if (!executablePath) {
    const remedy = `There is no ${EXECUTABLES.join(' or ')}: apt-get install --no-install-recommends chromium-headless-shell`;
    if (process.env['CI']) throw new Error(remedy);
    process.stderr.write(`Skipping the tests in a browser. ${remedy}\n`);
    project.provide('chromium', undefined);
    return async () => {};
  }
  const server = await chromium.launchServer({ executablePath, args: [RESOLVER] });
  project.provide('chromium', server.wsEndpoint());
  return () => server.close();
}
