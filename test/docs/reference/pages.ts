import { openApiDocument } from '../../../src/http/server/openapi.ts';
import { restRoutes } from '../../../src/rest.ts';
import { apiPages } from './api-pages.ts';
import { commandPage } from './command-page.ts';
import { configurationPage } from './configuration-page.ts';
import { errorsPage } from './errors-page.ts';
import { metricsPage } from './metrics-page.ts';

/** The address that examples name; a service shows its own in its place. */
const ADDRESS = 'http://127.0.0.1:3000';

/** Returns every page that is printed from the code, by path from the root of the repository. */
export async function referencePages(): Promise<Map<string, string>> {
  return new Map([
    ...apiPages(openApiDocument(restRoutes({ publicUrl: ADDRESS }), ADDRESS)),
    ['docs/command-line.md', commandPage()],
    ['docs/configuration.md', configurationPage()],
    ['docs/errors.md', errorsPage()],
    ['docs/metrics.md', await metricsPage()],
  ]);
}
