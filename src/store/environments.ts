/** Every row belongs to one of these two; a key of one never sees the other's rows. */
export type Environment = 'development' | 'production';

export const ENVIRONMENTS = ['development', 'production'] as const;
