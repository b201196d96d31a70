import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The slowest test files on a machine with two cores, slowest first, because a slow file at the end would run alone.
 * Browser files are next to each other, so that a process with the loaded browser modules continues with the next one.
 */
const SLOWEST = [
  'workflows/crashes',
  'mcp/list-changed',
  'proofs/proofs',
  'web/consent',
  'web/modal',
  'web/accessible',
  'web/link',
  'web/install',
  'web/sdk',
  'workflows/failures',
  'cli/commands',
  'workflows/runs',
  'mcp/event-resources',
  'outbox/delivery',
  'cli/start',
  'flows/sign-in',
  'outbox/fair',
  'credentials/refresh-endings',
  'credentials/refresh-processes',
  'flows/renewal',
  'subscriptions/sandbox',
  'sources/polling/polls',
  'cli/postgres',
];

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const index = SLOWEST.findIndex((name) => moduleId.includes(`/test/${name}.`));
      return index === -1 ? SLOWEST.length : index;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => place(a) - place(b));
  }
}
