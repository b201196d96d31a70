import type { Difference } from '../../custom/compare-versions.ts';
import type { Fault } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Request } from '../service.ts';
import type { Current } from './settings-current.ts';

/* The form in which each part of a settings file, such as its servers, is compared with the environment. */

/** A record that differs, and the requests that make it equal. */
export interface Step {
  kind: string;
  name: string;
  change: 'added' | 'changed' | 'removed';
  /** The members of a changed record. */
  differences: Difference[];
  requests: Request[];
}

/** An entry of the file. */
export interface Wanted {
  key: string;
  name: string;
  entry: JsonObject;
}

/** A part of the file next to the records of the environment. */
export interface Part {
  kind: string;
  wanted: Wanted[];
  current: Current[];
  /** Members that only name the record or its secrets. */
  uncompared: readonly string[];
  add(wanted: Wanted): Request[];
  change(change: { current: Current; wanted: Wanted; members: ReadonlySet<string> }): Request[];
  remove?(current: Current): Request;
}

/** Facts that the parts find while they are compared. */
export interface Notes {
  faults: Fault[];
  /** Entries that cannot be made yet, with the reason. */
  waiting: string[];
  /** Work that remains for a person, such as setting a secret. */
  byHand: string[];
}
