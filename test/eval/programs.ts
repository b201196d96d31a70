import { isDeepStrictEqual } from 'node:util';
import type { Service } from '../support/service.ts';
import {
  MODES,
  connectorsOf,
  openAgent,
  readTasks,
  solve,
  type Cost,
  type Mode,
  type Task,
} from './agent.ts';
import { connectedUser, startApps } from './apps.ts';
import { within, type Extent, type Row } from './rows.ts';

type Costs = Record<Mode, Cost>;
interface Solved {
  task: Task;
  costs: Costs;
}

/** Tasks that read a whole list, and others. */
const LARGE = 'task, long list';
const SHORT = 'task';
const ALL = 'all tasks';

/** Returns what twenty tasks of several steps cost a model in each mode, and their sums. */
export async function taskRows(service: Service, extent: Extent): Promise<Row[]> {
  await using apps = await startApps();
  const userId = await connectedUser(service, apps.origin);
  const clients = {
    discovery: await openAgent(service, userId, 'discovery'),
    direct: await openAgent(service, userId, 'direct'),
    program: await openAgent(service, userId, 'program'),
  };
  const solved: Solved[] = [];
  for (const task of within(extent, readTasks(), (one) => [connectorsOf(one).join(' ')])) {
    const costs = {
      discovery: await solve(clients.discovery, 'discovery', task),
      direct: await solve(clients.direct, 'direct', task),
      program: await solve(clients.program, 'program', task),
    };
    for (const mode of MODES)
      if (!isDeepStrictEqual(costs[mode].value, costs.discovery.value))
        throw new Error(`"${task.say}" has another result in the mode ${mode}: ${JSON.stringify(costs)}`);
    solved.push({ task, costs });
  }
  for (const client of Object.values(clients)) await client.close();
  const large = solved.filter(({ task }) => task.large);
  const short = solved.filter(({ task }) => !task.large);
  return [
    ...large.flatMap(({ task, costs }) => costRows(LARGE, task.say, [costs])),
    ...costRows(LARGE, 'all', costsOf(large)),
    savingRow(costsOf(large)),
    ...short.flatMap(({ task, costs }) => costRows(SHORT, task.say, [costs])),
    ...costRows(ALL, 'all', costsOf(solved)),
  ];
}

function costsOf(solved: readonly Solved[]): Costs[] {
  return solved.map(({ costs }) => costs);
}

function costRows(part: string, name: string, all: readonly Costs[]): Row[] {
  return MODES.map((mode) => ({
    part,
    name: `${name}: ${mode}`,
    figures: 'calls / tokens',
    now: [sum(all, mode, 'calls'), sum(all, mode, 'tokens')],
  }));
}

function savingRow(all: readonly Costs[]): Row {
  const tokens = sum(all, 'program', 'tokens');
  return {
    part: LARGE,
    name: 'tokens saved by programs',
    figures: 'of discovery / of direct',
    now: [1 - tokens / sum(all, 'discovery', 'tokens'), 1 - tokens / sum(all, 'direct', 'tokens')],
    isShare: true,
  };
}

function sum(all: readonly Costs[], mode: Mode, what: 'calls' | 'tokens'): number {
  return all.reduce((total, costs) => total + costs[mode][what], 0);
}
