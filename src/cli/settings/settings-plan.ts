import { differences, type Difference } from '../../custom/compare-versions.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Service } from '../service.ts';
import type { Current } from './settings-current.ts';
import type { Notes, Part, Step } from './settings-part.ts';
import type { SettingsFile } from './settings-file.ts';
import { openPeople } from './settings-people.ts';
import { connectorPart, oauthAppNotes, serverPart, settingsPart } from './settings-parts.ts';
import { mappingPart, subscriptionPart, workflowPart } from './settings-event-parts.ts';

export interface Plan {
  steps: Step[];
  /** Number of records that are as in the file. */
  unchanged: number;
  /** Records that the file does not have, and that stay. */
  extra: string[];
  /** Entries that cannot be made before a person did something, with that. */
  waiting: string[];
  /** Secrets that a person enters or passes on. */
  byHand: string[];
}

/**
 * Compares a file with an environment. Only the parts of the file are read.
 * @throws CommandError with the faults of the file in this environment, such as an absent user.
 */
export async function planSettings(
  service: Service,
  { settings, faulty }: SettingsFile,
  { prune }: { prune: boolean },
): Promise<Plan> {
  const notes: Notes = { faults: [], waiting: [], byHand: [] };
  const at = { service, people: openPeople(service), settings, notes };
  const parts = [
    await settingsPart(at),
    await connectorPart(at),
    await serverPart(at),
    await workflowPart(at),
    await mappingPart(at),
    await subscriptionPart(at),
  ].filter((part) => part !== undefined);
  const compared = parts.map(comparePart);
  const removed = prune ? parts.toReversed().flatMap(removals) : [];
  await oauthAppNotes(at);
  if (notes.faults.length > 0) throw faulty(notes.faults);
  return {
    steps: [...compared.flatMap(({ steps }) => steps), ...removed],
    unchanged: compared.reduce((sum, { unchanged }) => sum + unchanged, 0),
    extra: prune ? [] : parts.flatMap(removals).map(({ kind, name }) => recordName(kind, name)),
    waiting: notes.waiting,
    byHand: notes.byHand,
  };
}

/** Returns the words for a record: `server "Sales"`. */
export function recordName(kind: string, name: string): string {
  return name === '' ? kind : `${kind} "${name}"`;
}

function comparePart(part: Part): { steps: Step[]; unchanged: number } {
  const { kind, wanted: entries, current: records, uncompared } = part;
  const byKey = new Map(records.map((one) => [one.key, one]));
  const steps: Step[] = [];
  for (const wanted of entries) {
    const { name } = wanted;
    const current = byKey.get(wanted.key);
    if (!current) {
      steps.push({ kind, name, change: 'added', differences: [], requests: part.add(wanted) });
      continue;
    }
    const found = memberDifferences(current.entry, wanted.entry, uncompared);
    const members = new Set(found.map(({ member }) => member));
    if (members.size === 0) continue;
    const requests = part.change({ current, wanted, members });
    steps.push({ kind, name, change: 'changed', differences: found.map(({ of }) => of), requests });
  }
  return { steps, unchanged: entries.length - steps.length };
}

/** Returns the differences of the members that the entry names. It leaves other members as they are. */
function memberDifferences(
  current: JsonObject,
  wanted: JsonObject,
  uncompared: readonly string[],
): { member: string; of: Difference }[] {
  return Object.entries(wanted)
    .filter(([member]) => !uncompared.includes(member))
    .flatMap(([member, value]) => {
      const before = member in current ? { [member]: current[member] ?? null } : {};
      return differences(before, { [member]: value }).map((of) => ({ member, of }));
    });
}

function removals({ kind, wanted, current, remove }: Part): Step[] {
  if (!remove) return [];
  const keys = new Set(wanted.map(({ key }) => key));
  return current
    .filter(({ key, facts }) => !keys.has(key) && facts['draft'] !== true)
    .map((one) => ({
      kind,
      name: nameOf(one),
      change: 'removed',
      differences: [],
      requests: [remove(one)],
    }));
}

/** Returns the name of a record for people. */
function nameOf({ key, entry }: Current): string {
  return typeof entry['name'] === 'string' ? entry['name'] : key.replaceAll('\n', ' ').trim();
}
