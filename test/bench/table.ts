/** Prints a Markdown table. */
export function table(title: string, columns: string[], rows: string[][]): void {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  console.log(
    `\n**${title}**\n\n${line(columns)}\n${line(columns.map(() => '---'))}\n${rows.map(line).join('\n')}`,
  );
}
