import { writeWhole } from '../connectors/connector-folder.ts';
import { thrownMessage } from '../../lib/errors.ts';
import { CommandError } from '../faults.ts';
import type { Service } from '../service.ts';
import { currentSettings } from './settings-current.ts';
import { readSettingsFile, settingsText } from './settings-file.ts';
import type { Step } from './settings-part.ts';
import { openPeople } from './settings-people.ts';
import { planSettings, recordName, type Plan } from './settings-plan.ts';
import { planJson, planText } from './settings-print.ts';

/* `gatehouse config export`, `plan` and `apply`. */

/** Exit code of a plan with differences. */
const DIFFERS = 3;

export interface FileOptions {
  prune?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

/** Runs `gatehouse config export`: writes the settings of an environment to a file. */
export async function exportSettings(
  service: Service,
  file: string,
  { json = false }: FileOptions,
): Promise<number> {
  const settings = await currentSettings({ service, people: openPeople(service) });
  const text = json ? `${JSON.stringify(settings, null, 2)}\n` : settingsText(settings);
  if (file === '-') process.stdout.write(text);
  else {
    await writeWhole(file, text);
    process.stderr.write(`Wrote ${file}. It holds no secrets.\n`);
  }
  return 0;
}

/** Runs `gatehouse config plan`: prints the differences, and returns 3 where there are some. */
export async function planFile(service: Service, file: string, options: FileOptions): Promise<number> {
  const plan = await planned(service, file, options);
  if (options.json) process.stdout.write(`${JSON.stringify(planJson(plan))}\n`);
  return plan.steps.length + plan.waiting.length === 0 ? 0 : DIFFERS;
}

/** Runs `gatehouse config apply`: makes the environment equal to the file, and stops at the first refusal. */
export async function applyFile(service: Service, file: string, options: FileOptions): Promise<number> {
  if (options.dryRun) return planFile(service, file, options);
  const plan = await planned(service, file, options);
  const done: Step[] = [];
  const refusal = await apply(service, plan.steps, done);
  const left = plan.steps.slice(done.length);
  if (options.json) {
    const [refused, ...others] = left.map(named);
    const outcome = {
      done: done.map(named),
      refused: refused === undefined ? null : { name: refused, error: refusal },
      notDone: others,
    };
    process.stdout.write(`${JSON.stringify({ ...planJson(plan), ...outcome })}\n`);
  } else process.stderr.write(outcomeText({ done, left, refusal, plan }));
  return left.length + plan.waiting.length === 0 ? 0 : 1;
}

async function planned(service: Service, file: string, { prune = false, json }: FileOptions): Promise<Plan> {
  const plan = await planSettings(service, readSettingsFile(file), { prune });
  if (!json) process.stdout.write(planText(plan));
  return plan;
}

/** Makes the requests of the steps, and returns the sentence of the first refusal. */
async function apply(service: Service, steps: readonly Step[], done: Step[]): Promise<string | undefined> {
  for (const step of steps) {
    try {
      for (const request of step.requests) await service.request(request);
    } catch (error) {
      if (error instanceof CommandError) return thrownMessage(error);
      throw error;
    }
    done.push(step);
  }
  return undefined;
}

function outcomeText({
  done,
  left,
  refusal,
  plan,
}: {
  done: readonly Step[];
  left: readonly Step[];
  refusal: string | undefined;
  plan: Plan;
}): string {
  const [refused, ...others] = left;
  const lines: string[] = [];
  if (refused)
    lines.push(
      `gatehouse: ${named(refused)} was refused: ${refusal}`,
      `Done: ${listOf(done)}.`,
      `Not done: ${listOf(others)}.`,
      'Correct the cause and run the command again: it does the rest.',
    );
  else if (done.length > 0) lines.push(`Applied ${done.length} ${done.length === 1 ? 'change' : 'changes'}.`);
  if (plan.waiting.length > 0)
    lines.push(
      `${plan.waiting.length} ${plan.waiting.length === 1 ? 'entry' : 'entries'} of the file cannot be made yet. ` +
        'Do what the plan says about each, and run the command again.',
    );
  return lines.map((line) => `${line}\n`).join('');
}

function listOf(steps: readonly Step[]): string {
  return steps.length === 0 ? 'nothing' : steps.map(named).join(', ');
}

function named({ kind, name }: Step): string {
  return recordName(kind, name);
}
