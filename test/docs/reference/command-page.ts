import type { Command } from 'commander';
import { buildProgram } from '../../../src/main.ts';
import { fence, prose, table } from './tables.ts';

/* docs/command-line.md: each command with its help, as commander prints it. */

const INTRODUCTION = `# Command line

\`gatehouse\` starts the service and does the operator's work. In a checkout it is \`npx gatehouse\`. Every command has \`--help\`, from which
this page is printed. Results go to standard output, and messages for people to standard error. Exit codes: 0 done, 1 failed, 2 wrong
usage.

The commands of daily work use the store of this machine. With \`GATEHOUSE_URL\` and \`GATEHOUSE_KEY\`, or \`--url\` and \`--key\`, they work
with a remote Gatehouse, by the rights of its key. They print tables, and JSON with \`--json\`.
`;

/** Returns the page. */
export function commandPage(): string {
  const program = buildProgram(() => {});
  const commands = commandsOf(program);
  return [
    INTRODUCTION,
    table(
      ['Command', 'Use'],
      commands.map((one) => [
        `[\`${nameOf(one)}\`](#${nameOf(one).replaceAll(' ', '-')})`,
        prose(one.description()),
      ]),
    ),
    ...commands.map(sectionOf),
  ].join('\n');
}

/** Returns the commands that do something, those of groups in their places. */
function commandsOf(parent: Command): Command[] {
  return parent.commands
    .filter((one) => one.name() !== 'help')
    .flatMap((one) => (one.commands.length > 0 ? commandsOf(one) : [one]));
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

function sectionOf(command: Command): string {
  const values = command.registeredArguments.map((one) => [
    one.required ? `\`<${one.name()}>\`` : `\`[${one.name()}]\``,
    prose(one.description),
    '',
  ]);
  const options = command.options.map(({ flags, description, defaultValue }) => [
    `\`${flags}\``,
    prose(description),
    isShown(defaultValue) ? `\`${String(defaultValue)}\`` : '',
  ]);
  const rows = [...values, ...options];
  return [
    `## ${nameOf(command)}\n`,
    `${prose(command.description())}\n`,
    fence('', `${nameOf(command)} ${command.usage()}`.trim()),
    ...(rows.length === 0 ? [] : [table(['Argument or option', 'Meaning', 'Default'], rows)]),
    ...notesOf(command),
  ].join('\n');
}

function isShown(value: unknown): boolean {
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
}

/** Returns the text after the options: paragraphs, and the examples as a block. */
function notesOf(command: Command): string[] {
  let text = '';
  command.configureOutput({ writeOut: (part) => void (text += part) });
  command.outputHelp();
  const after = text.slice(command.helpInformation().length).trim();
  const [notes = '', examples] = after.split(/^Examples:\n/m);
  const lines = (examples ?? '')
    .split('\n')
    .map((line) => line.replace(/^ {2}(\$ )?/, '').trimEnd())
    .join('\n')
    .trim();
  return [
    ...(notes.trim() === '' ? [] : [`${prose(notes.trim())}\n`]),
    ...(lines === '' ? [] : [fence('sh', lines)]),
  ];
}
