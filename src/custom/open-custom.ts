import type { Base } from '../base.ts';
import type { ChangeableCatalog, MapBounded } from '../connectors/catalog.ts';
import { createBuilds, type Builds } from './builds.ts';
import { createConnectorFolder } from './folder.ts';
import { createCustomConnectors, type CustomConnectors } from './live-connectors.ts';

/** The custom connectors of a process. */
interface OpenConnectors {
  readonly builds: Builds;
  readonly customConnectors: CustomConnectors;
  close(): Promise<void>;
}

/** Reads the custom connectors of the folder and the store, and looks for changes from now on. */
export async function openCustomConnectors(
  context: Pick<Base, 'db' | 'config' | 'log' | 'intervals'> & {
    readonly catalog: ChangeableCatalog;
    readonly mapBounded: MapBounded;
  },
  buildProgram?: URL,
): Promise<OpenConnectors> {
  const builds = createBuilds({ program: buildProgram });
  const customConnectors = createCustomConnectors({ ...context, builds });
  const folder = createConnectorFolder({ ...context, builds });
  await folder.load();
  await customConnectors.refresh();
  folder.start();
  customConnectors.start();
  return {
    builds,
    customConnectors,
    async close() {
      // First, because a look at the folder waits for its build.
      await builds.close();
      await folder.close();
      await customConnectors.close();
    },
  };
}
