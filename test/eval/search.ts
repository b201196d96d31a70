import { loadCatalog } from '../../src/connectors/load.ts';
import { CATALOG_FOLDER } from '../../src/context.ts';
import { evaluate, readIntents, unknownActions, type Figure } from './evaluate.ts';

/*
 * npm run eval:search: how often the right action is among the first five that a search finds, over the shipped catalogue.
 * `--missed` prints what was not found, of the intents that tuning may look at.
 */
const catalog = await loadCatalog({ folder: CATALOG_FOLDER, sandbox: true });
const { tuned, heldOut } = readIntents();
const unknown = unknownActions(catalog, [...tuned, ...heldOut]);
if (unknown.length > 0) throw new Error(`No connector has: ${unknown.join(', ')}`);

const started = performance.now();
const figures = { tuned: await evaluate(catalog, tuned), heldOut: await evaluate(catalog, heldOut) };
const milliseconds = (performance.now() - started) / (tuned.length + heldOut.length);

const actions = catalog.connectors('development').reduce((sum, { actions }) => sum + actions.size, 0);
console.log(`${actions} actions of ${catalog.connectors('development').length} connectors`);
print('tuned', figures.tuned);
print('held out', figures.heldOut);
console.log(`${milliseconds.toFixed(2)} ms a search, the index built twice included`);
if (process.argv.includes('--missed')) {
  for (const { say, right, found } of figures.tuned.missed) {
    console.log(`\n${say}\n  right: ${right.join(', ')}\n  found: ${found.join(', ')}`);
  }
}

function print(name: string, { intents, first, firstFive }: Figure): void {
  const share = (value: number) => `${(value * 100).toFixed(1)} %`;
  console.log(`${name}: ${intents} intents, among the first five ${share(firstFive)}, first ${share(first)}`);
}
