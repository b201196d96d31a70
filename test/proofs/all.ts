import { adversary } from './adversary.ts';
import { beginnings } from './beginnings.ts';
import { intake } from './intake.ts';
import { kills } from './kills.ts';
import { outward } from './outward.ts';
import { polls } from './polls.ts';
import type { Proof } from './proof.ts';
import { stalls } from './stalls.ts';

/** All proofs about events, in the order in which they run. */
export const PROOFS: readonly Proof[] = [adversary, stalls, outward, intake, beginnings, polls, kills];
