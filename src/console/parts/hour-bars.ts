const DAY_HOURS = 24;
/** Hours in a bar of a longer span. */
const HOURS_A_BAR = 6;

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', hour: '2-digit', minute: '2-digit' });

/** Returns the bars of a chart: one for each hour of a day, or for six hours of a longer span, which `join` joins. */
export function barsOf<T extends { at: string }, B extends object>(
  hours: T[],
  join: (hours: T[]) => B,
): (B & { label: string })[] {
  const isDay = hours.length <= DAY_HOURS;
  const groups = Map.groupBy(hours, (_, index) => Math.floor(index / (isDay ? 1 : HOURS_A_BAR)));
  return [...groups.values()].map((group) => {
    const at = new Date(group[0]?.at ?? 0);
    return { ...join(group), label: isDay ? clock.format(at) : day.format(at) };
  });
}

/** Returns the sum of one count over hours. */
export function sumOf<K extends string>(hours: Record<K, number>[], key: K): number {
  return hours.reduce((total, hour) => total + hour[key], 0);
}
