import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take longest on a machine with two cores, the longest first: one of them begun last would be waited for alone.
 * Those in a browser stand together, so that a process that has loaded what they need goes on with the next.
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
