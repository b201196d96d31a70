import { z } from 'zod';
import { hasControls } from './hidden-characters.ts';

/** Returns the schema of a name in one line, without blanks around it. */
export const label = (max: number) =>
  z
    .string()
    .trim()
    .min(1, `must be 1 to ${max} characters`)
    .max(max, `must be 1 to ${max} characters`)
    .refine((text) => !hasControls(text), 'must not hold control characters');
