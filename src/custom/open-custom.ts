import type { Base } from '../base.ts';
import type { ChangeableCatalog, MapBounded } from '../connectors/catalog.ts';
import type { CloseStack } from '../lib/close-stack.ts';
import { createBuilds, type Builds } from './builds.ts';
import { createConnectorFolder } from './folder.ts';
import { createCustomConnectors, type CustomConnectors } from './live-connectors.ts';

/** Reads the custom connectors of the folder and the store, and looks for changes until `opened` closes. */
export async function openCustomConnectors(
  context: Pick<Base, 'db' | 'config' | 'log' | 'intervals'> & {
    readonly catalog: ChangeableCatalog;
    readonly mapBounded: MapBounded;
  },
  { opened, buildProgram }: { opened: CloseStack; buildProgram: URL | undefined },
): Promise<{ readonly builds: Builds; readonly customConnectors: CustomConnectors }> {
  const builds = createBuilds({ program: buildProgram });
  const customConnectors = opened.use(createCustomConnectors({ ...context, builds }));
  const folder = opened.use(createConnectorFolder({ ...context, builds }));
  // The last, and so closed first, because a look at the folder waits for its build.
  opened.use(builds);
  await folder.load();
  await customConnectors.refresh();
  folder.start();
  customConnectors.start();
  return { builds, customConnectors };
}
