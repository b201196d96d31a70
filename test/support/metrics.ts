/** A page of metrics as a scraper reads it. */
export interface Scrape {
  status: number;
  text: string;
  /** Returns the value of a series, such as `name{label="value"}`; 0 when the page does not have it. */
  value(series: string): number;
}

/** Reads the metrics of a service from the same machine. */
export async function readMetrics(url: string): Promise<Scrape> {
  const response = await fetch(`${url}/metrics`);
  const text = await response.text();
  const values = new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const end = line.lastIndexOf(' ');
        return [line.slice(0, end), Number(line.slice(end + 1))];
      }),
  );
  return { status: response.status, text, value: (series) => values.get(series) ?? 0 };
}
