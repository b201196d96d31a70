/** Every row belongs to one of these two; a key of one never sees the other's rows. */
export const ENVIRONMENTS = ['development', 'production'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];
