import type { Command } from 'commander';
import { TARGET_HELP, withService, withTarget } from '../service-options.ts';
import type { ServiceTarget } from '../service.ts';

interface ImportFlags extends ServiceTarget {
  into?: string;
  id?: string;
  tag?: string[];
  path?: string[];
  method?: string[];
  acceptBreaking?: boolean;
  overwrite?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

/** Adds `gatehouse connectors import`. */
export function addImport(connectors: Command, done: (code: number) => void): void {
  withTarget(connectors.command('import'))
    .description('Make a connector of an OpenAPI document (2.0, 3.0 or 3.1, JSON or YAML), or update it.')
    .argument('<file>', 'path of the document; $ref may lead to files in its folder')
    .option('--into <folder>', 'write a connector file into this folder, not into the store')
    .option('--id <id>', "id of the connector (default: made from the document's title)")
    .option('--tag <tag>', 'only operations with this tag; may be repeated', collect)
    .option('--path <path>', 'only this path; * stands for any characters; may be repeated', collect)
    .option('--method <method>', 'only this method; may be repeated', collect)
    .option('--accept-breaking', 'also write changes that break callers')
    .option('--overwrite', 'with --into: replace changes that were made in connector.yaml itself')
    .option('--dry-run', 'write nothing, and print what an import would do')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', IMPORT_HELP)
    .action(async (document: string, options: ImportFlags, command: Command) => {
      const { into, id, tag, path, method, overwrite } = options;
      const common = {
        document,
        id,
        include: { tags: tag, paths: path, methods: method },
        acceptBreaking: options.acceptBreaking === true,
        dryRun: options.dryRun === true,
        json: options.json === true,
      };
      if (into === undefined) {
        if (overwrite) command.error('error: --overwrite goes with --into');
        const { importIntoStore } = await import('./import-into-store.ts');
        return done(await withService(options, (service) => importIntoStore(service, common)));
      }
      const { url, key, environment } = options;
      if ([url, key, environment].some((option) => option !== undefined))
        command.error('error: --into writes a file, so --url, --key and --environment do not go with it');
      const { importConnector } = await import('./connectors-import.ts');
      return done(await importConnector({ ...common, into, overwrite: overwrite === true }));
    });
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}

const IMPORT_HELP = `${TARGET_HELP}
With --into it writes <folder>/<id>/connector.yaml.

Prints which operations were left out and why, and which parts were approximated. A second import keeps the names of
actions, the choice of operations and the overlay (in a folder: <folder>/<id>/overlay.yaml), and prints the difference.
Exit code 3: the update would break callers, and nothing was written.

Examples:
  $ gatehouse connectors import petstore.yaml
  $ gatehouse connectors import api.json --id crm --tag contacts --method GET --dry-run
  $ gatehouse connectors import api.json --id crm --url https://gatehouse.example.com --accept-breaking
  $ gatehouse connectors import petstore.yaml --into my-connectors`;
