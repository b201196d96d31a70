import type { Base } from '../base.ts';
import type { ChangeableCatalog } from '../connectors/catalog.ts';
import type { Builds } from './builds.ts';
import type { CustomConnectors } from './live-connectors.ts';

/** The parts that custom connectors use. */
export interface Context extends Pick<Base, 'db' | 'clock' | 'log'> {
  readonly catalog: ChangeableCatalog;
  readonly customConnectors: CustomConnectors;
  readonly builds: Builds;
}
