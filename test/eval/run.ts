import { parseArgs } from 'node:util';
import { startService, type Service } from '../support/service.ts';
import { listRows } from './listed-tools.ts';
import { taskRows } from './programs.ts';
import { repairRows } from './repairs.ts';
import { saveBefore, tableOf, type Extent, type Row } from './rows.ts';
import { missedRequests, searchRows } from './search.ts';

/*
 * npm run eval: one table of what models read and pay, and of how often they succeed. It starts a service, and the
 * official client calls its tools over HTTP. Arguments name the parts; without any, all of them run.
 *
 * `--few` takes the first item of each kind only. `--missed` prints the missed requests of the search, of the sets for tuning
 * alone. The other sets have rates only. `--save <release>` writes before.json, whose figures the table compares with.
 */
const PARTS: Record<string, (service: Service, extent: Extent) => Promise<Row[]>> = {
  tools: listRows,
  tasks: taskRows,
  search: searchRows,
  calls: repairRows,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    few: { type: 'boolean', default: false },
    missed: { type: 'boolean', default: false },
    save: { type: 'string' },
  },
});
const names = positionals.length > 0 ? positionals : Object.keys(PARTS);
const unknown = names.filter((name) => !(name in PARTS));
if (unknown.length > 0)
  throw new Error(`Parts are ${Object.keys(PARTS).join(', ')}, not ${unknown.join(', ')}.`);
if (values.save !== undefined && (values.few || positionals.length > 0))
  throw new Error('--save takes all rows, so leave out --few and the names of parts.');

await using service = await startService();
// A part would otherwise change the search of a later one.
const set = await service.call('PUT', '/api/settings', { body: { searchLearning: 'off' } });
if (set.status !== 200) throw new Error(`settings: ${JSON.stringify(set.body)}`);
const rows: Row[] = [];
for (const name of names) rows.push(...((await PARTS[name]?.(service, { few: values.few })) ?? []));
console.log(tableOf(rows));
if (values.missed) console.log(`\n${await missedRequests(service)}`);
if (values.save !== undefined) saveBefore(values.save, rows);
