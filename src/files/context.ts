import type { Base } from '../base.ts';

/** The parts that files use. */
export type Context = Pick<Base, 'config' | 'db' | 'clock' | 'keys' | 'log'>;
