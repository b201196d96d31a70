import type { Pause } from './json-steps.ts';

/** A step writes about so much: a value weighs 1, a text 1 for each 16 characters in addition. It takes 3 ms. */
const STEP_WEIGHT = 20_000;
const CHARS_A_WEIGHT = 16;
/** Lists and objects are taken apart down to this level. Each level weighs what it holds again. */
const LEVELS = 4;

/** Writes JSON as JSON.stringify() does; a large value in steps, between which it pauses. */
export function jsonText(value: unknown, pause: Pause): string | Promise<string> {
  return weigh(value, STEP_WEIGHT) < STEP_WEIGHT ? JSON.stringify(value) : writeInSteps(value, pause, 0);
}

async function writeInSteps(value: unknown, pause: Pause, level: number): Promise<string> {
  await pause();
  if (level === LEVELS || typeof value !== 'object' || value === null || isItsOwnText(value))
    return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(await written(value.entries(), list, pause, level)).join(',')}]`;
  return `{${(await written(Object.entries(value), object, pause, level)).join(',')}}`;
}

/** How members are written: together as part of a list or object, or one that is large. */
interface Kind<Name> {
  together(members: [Name, unknown][]): string;
  before(name: Name): string;
}

const list: Kind<number> = {
  together: (items) => JSON.stringify(items.map(([, item]) => item)).slice(1, -1),
  before: () => '',
};

const object: Kind<string> = {
  together: (members) => JSON.stringify(Object.fromEntries(members)).slice(1, -1),
  before: (name) => `${JSON.stringify(name)}:`,
};

/** The texts of members, of as many together as make a step. */
async function written<Name>(
  members: Iterable<[Name, unknown]>,
  kind: Kind<Name>,
  pause: Pause,
  level: number,
): Promise<string[]> {
  const texts: string[] = [];
  let some: [Name, unknown][] = [];
  let weight = 0;
  const flush = async (): Promise<void> => {
    if (some.length === 0) return;
    const text = kind.together(some);
    // Members that are undefined have no text.
    if (text !== '') texts.push(text);
    some = [];
    weight = 0;
    await pause();
  };
  for (const [name, member] of members) {
    const own = weigh(member, STEP_WEIGHT);
    if (weight + own >= STEP_WEIGHT) await flush();
    if (own < STEP_WEIGHT) {
      some.push([name, member]);
      weight += own;
    } else texts.push(kind.before(name) + (await writeInSteps(member, pause, level + 1)));
  }
  await flush();
  return texts;
}

/** The weight of a value; `most` where it is that much or more. */
function weigh(value: unknown, most: number): number {
  if (typeof value === 'string') return Math.min(most, 1 + value.length / CHARS_A_WEIGHT);
  if (typeof value !== 'object' || value === null) return 1;
  let weight = 1;
  for (const name in value) {
    weight += weigh(Reflect.get(value, name), most - weight);
    if (weight >= most) return most;
  }
  return weight;
}

function isItsOwnText(value: object): boolean {
  return 'toJSON' in value;
}
